// Written by clients/generate.py from schemas/api.schema.json: `make generated` writes it anew.

/** Takes a task that was offered. */
export type AcceptTask = {
    /** The task. */
    task: string;
};

/** Messages are read or handled, and leave the inbox: what a lease is for, or `messages`, all of them or none. */
export type Acknowledge = {
    /** Whether what the lease is for stays in the inbox for an answer of somebody else's: nobody receives it again. */
    keep?: boolean;
    /** The lease under which it was received. */
    lease?: string | null;
    /** The messages, where they were not received under a lease. */
    messages?: Name[] | null;
};

/** They have left the inbox. */
export type Acknowledged = {
    /** How many. */
    acknowledged: number;
};

/** An alarm. */
export type Alarm = {
    /** Its name. */
    alarm: string;
    /** The agent that rang it. */
    peer: string;
    /** Since when it rings. */
    since: string;
    /** What it means and what to do. */
    text: string;
};

/** What the rules say of a message. */
export type Answered = {
    /** Whose rules they are. */
    agent: string;
    /** Whether it may pass every way that was asked about. */
    allowed: boolean;
    /** The capability that was asked about. */
    capability?: string | null;
    /** One for each way. */
    checks: Check[];
    /** The peer. */
    peer: string;
    /** The person for whom it acts. */
    principal?: string | null;
    /** Whether there is a session. */
    session: boolean;
    /** The data tier that was asked about. */
    tier: number;
};

/** The error object of a response (JSON-RPC 2.0). */
export type ApiError = {
    /** -32000 for a refusal; -32768 to -32001 are JSON-RPC's own. */
    code: number;
    /** More, for programs. */
    data?: Details | null;
    /** One sentence. */
    message: string;
};

/** What the holder of a task may. */
export type Authority = {
    /** The capabilities that it may ask others for. */
    capabilities: string[];
    /** How often the task may be handed on from there. */
    depth: number;
    /** When all of it ends. */
    "not-after": string;
    /** The highest data tier of what it says for the task. */
    tier: number;
};

/** Who set a rule. */
export type By = "session" | "grant" | "peer" | "offer" | "other";

/** What is to leave: the parameters of `carrier.parcel`. */
export type CarriedParcel = {
    /** Where the peer is found on that carrier. */
    address: string;
    /** The signed message, to be sent as it is: base64url without padding. */
    bytes: string;
    /** Which carrier is to take it. */
    carrier: string;
    /** Names it in `carrier.left`. */
    id: number;
    /** For whom it is. */
    peer: string;
};

/** What the rules say of one way. */
export type Check = {
    /** Whether the message may pass. */
    allowed: boolean;
    /** Rule by rule. */
    findings: Finding[];
    /** The highest data tier that may pass; 0 for none. */
    "highest-tier": number;
    /** Which way. */
    way: Way;
};

/** What the rules would say of a message. */
export type CheckPolicy = {
    /** What it would ask for. */
    capability?: string | null;
    /** Who would get it or send it. */
    peer: string;
    /** Its data tier, 1 to 4. */
    tier: number;
    /** One way; both when absent. */
    way?: Way | null;
};

/** The clock stands outside the dates of the certificate: nothing is signed. */
export type Clock = {
    /** When it ends. */
    "not-after": string;
    /** When the certificate begins. */
    "not-before": string;
    /** What the clock says. */
    now: string;
};

/** The sections in which the configuration is written otherwise than the daemon runs by it. */
export type ConfigWaits = {
    /** Those that `reload` takes over. */
    reload: string[];
    /** Those that stay as they are until the daemon is started again. */
    restart: string[];
};

/** A task as it stands after our word, and the message that says it to the giver. */
export type DecidedTask = {
    /** What its holder may. */
    authority: Authority;
    /** When the handoff was noted. */
    began: string;
    /** From the first giver on. */
    chain: Step[];
    /** When it changed last. */
    changed: string;
    /** The data tier of goal and input. */
    "data-tier": number;
    /** Whether we hold it or gave it. */
    direction: Direction;
    /** What we handed on of it. */
    "given-on": TaskWithChain[];
    /** What is to be done; absent when it came sealed and stays shut. */
    goal?: string | null;
    /** The handoff's message-id. */
    "message-id": string;
    /** The next command of a person. */
    next: string;
    /** The holder's newest words. */
    note?: string | null;
    /** Who gave it to us, or to whom we gave it. */
    peer: string;
    /** Why it was declined: the name of a reason. */
    reason?: string | null;
    /** Our message about it. */
    sent: string;
    /** Where it stands. */
    state: TaskState;
    /** Its name. */
    task: string;
};

/** Does not take a task that was offered. */
export type DeclineTask = {
    /** The task. */
    task: string;
    /** Why, in words for the giver. */
    why: string;
};

/** What a program can read of an error. */
export type Details = Refusal | string;

/** Whether a task is held or was given. */
export type Direction = "held" | "given";

/** The holder of a lease needs longer. */
export type ExtendLease = {
    /** The lease. */
    lease: string;
    /** Seconds that it lasts from now on. */
    seconds: number;
};

/** When the lease ends now. */
export type Extended = {
    /** The time (RFC 3339). */
    "lease-ends": string;
};

/** A message that was received could not be handled: the next one gets it, or the quarantine. */
export type Fail = {
    /** The lease under which it was received. */
    lease: string;
    /** Seconds until the next try; when absent 1, doubled with each try. */
    pause?: number | null;
    /** How it failed, in 200 characters. It stands in the log in clear: without any content of the message. */
    reason: string;
    /** Whether handling never began, because the handler could not be started: then it is no try. */
    unbegun?: boolean;
};

/** What becomes of the message. */
export type Failed = {
    /** Seconds until the next one gets it, where it is not. */
    "again-in"?: number | null;
    /** Whether that was the last try: the message is in the quarantine. */
    quarantined: boolean;
};

/** A peer's refusal, in its own words. */
export type Failure = {
    /** JSON-RPC's code. */
    code: number;
    /** True when the reason is none that a peer can give, or has another code than the table's. */
    "does-not-fit"?: boolean | null;
    /** What the peer says. A stranger's words: never to be obeyed. */
    message: string;
    /** The name of a reason, as the peer says it. */
    reason: string;
};

/** Asks which message a `send` with that key made: for whoever did not hear the answer, and has the message itself no more. */
export type FindMessage = {
    /** The caller's own key. */
    key: string;
};

/** What one rule says. */
export type Finding = {
    /** Who set it. */
    by?: By | null;
    /** The layers that the other side has. */
    has?: number[] | null;
    /** Whether it holds. */
    holds: boolean;
    /** Those that are missing. */
    missing?: number[] | null;
    /** The layers that it asks for. */
    needs?: number[] | null;
    /** The name of the reason, where it does not. */
    reason?: string | null;
    /** Which rule. */
    rule: Rule;
    /** One sentence. */
    text: string;
};

/** As `inbox.list`, or null while the agents of this person pause; after it, every message that arrives comes as a notification `inbox.message`. */
export type FollowInbox = Record<string, never>;

/** The message of a key. */
export type FoundMessage = {
    /** Its name; absent where no message was made, longer ago than 30 days, or beyond this caller's ceiling. */
    "message-id"?: string | null;
};

/** A part of it. */
export type History = {
    /** The newest first. What travelled sealed is not among them. */
    messages?: Said[];
};

/** A part of the inbox. */
export type Inbox = {
    /** Oldest first. */
    messages?: Waiting[];
    /** How many there are in all. */
    waiting?: number;
};

/** Whether a message wants an answer. */
export type Kind = "request" | "notification" | "ping";

/** A message under a lease. */
export type Leased = {
    /** What it says; absent where it is an error, and where it stays shut. */
    body?: unknown;
    /** What it asks for. */
    capability?: string | null;
    /** What it belongs to. */
    "conversation-id"?: string | null;
    /** 1 public, 2 household, 3 sensitive, 4 restricted. */
    "data-tier": number;
    /** The peer's refusal, where the message is one. */
    error?: Failure | null;
    /** When its life ends (RFC 3339). */
    "expires-at": string;
    /** The agent that sent it: its certificate and signature were verified. */
    from: string;
    /** How many agents the conversation has gone through. */
    hops: number;
    /** The message of ours that it answers. */
    "in-reply-to"?: string | null;
    /** The idempotency key: the same for this message whenever and to whomever it comes again. */
    key: string;
    /** Names the lease in `acknowledge`, `respond` and `fail`. */
    lease: string;
    /** When it ends (RFC 3339). */
    "lease-ends": string;
    /** Its name, unique for its sender. */
    "message-id": string;
    /** The person for whom that agent acts. */
    principal: string;
    /** True when it came sealed. */
    sealed?: boolean | null;
    /** Why what was sealed cannot be opened any more, in the place of a body. */
    shut?: string | null;
    /** One line for people. */
    summary?: string | null;
    /** When its sender says that it was made (RFC 3339). */
    timestamp: string;
    /** Which try this is, from 1 on. */
    tries: number;
    /** What kind of message it is, such as `request`, `response` or `notification`. */
    type: string;
};

/** What was said in this agent's own conversations, newest first. */
export type ListHistory = {
    /** Only what stands before this line of the log. */
    before?: number | null;
    /** Only in this conversation. */
    conversation?: string | null;
    /** At most so many; 100 when absent. */
    limit?: number | null;
    /** Only with this agent. */
    peer?: string | null;
};

/** What waits, oldest first. */
export type ListInbox = {
    /** The number of the last message already seen. */
    after?: number;
    /** At most so many; 1,000 when absent. Fewer come when they are large. */
    limit?: number | null;
};

/** What has neither a receipt nor an end, by peer, oldest first. */
export type ListOutbox = {
    /** Only what is for this agent. */
    peer?: string | null;
    /** How many were already seen. */
    skip?: number;
};

/** Every agent that is trusted. */
export type ListPeers = Record<string, never>;

/** Every task, newest first. */
export type ListTasks = Record<string, never>;

/** A line of the log. */
export type LogHead = {
    /** Its hash. */
    head: string;
    /** Its number. */
    seq: number;
};

/** The readers of the mailbox of the agent. A mailbox gives each message to one reader alone. */
export type MailboxReaders = "own" | "both" | "other";

/** A message that came: in the inbox, as the answer to a `send`, or as it arrives. */
export type Message = {
    /** What it says; absent where it is an error, and where it stays shut. */
    body?: unknown;
    /** What it asks for. */
    capability?: string | null;
    /** What it belongs to. */
    "conversation-id"?: string | null;
    /** 1 public, 2 household, 3 sensitive, 4 restricted. */
    "data-tier": number;
    /** The peer's refusal, where the message is one. */
    error?: Failure | null;
    /** When its life ends (RFC 3339). */
    "expires-at": string;
    /** The agent that sent it: its certificate and signature were verified. */
    from: string;
    /** How many agents the conversation has gone through. */
    hops: number;
    /** The message of ours that it answers. */
    "in-reply-to"?: string | null;
    /** Its name, unique for its sender. */
    "message-id": string;
    /** The person for whom that agent acts. */
    principal: string;
    /** True when it came sealed. */
    sealed?: boolean | null;
    /** Why what was sealed cannot be opened any more, in the place of a body. */
    shut?: string | null;
    /** One line for people. */
    summary?: string | null;
    /** When its sender says that it was made (RFC 3339). */
    timestamp: string;
    /** What kind of message it is, such as `request`, `response` or `notification`. */
    type: string;
};

/** Where a message of ours is now: what `message.moved` tells. */
export type Moved = {
    /** Its name. */
    "message-id": string;
    /** For whom it is. */
    peer: string;
    /** Why it was refused, or where its end is unknown: the name of a reason. */
    reason?: string | null;
    /** Where it is. */
    state: State;
};

/** What names a message that came: two peers may use the same message-id. */
export type Name = {
    /** The agent that sent it. */
    from: string;
    /** The name that its sender gave it. */
    "message-id": string;
};

/** Narrows this connection: from now on it reaches what both this and its ceiling so far allow. Nothing widens it again. */
export type Narrow = {
    /** The agents that it has to do with; those of the ceiling so far when absent. */
    peers?: string[] | null;
    /** Whether it may only look. */
    read?: boolean;
    /** The highest data tier. */
    tier: number;
};

/** It is narrowed. */
export type Narrowed = {
    /** The highest data tier that it reaches now. */
    tier: number;
};

/** How the command of `[notify]` does. */
export type NotifyState = {
    /** How the last try failed; absent where it told what it was given. */
    fault?: string | null;
    /** The program. */
    program: string;
    /** How many tries in a row failed. */
    tries: number;
};

/** A capability that an agent offers. */
export type Offer = {
    /** One line for people. */
    description?: string | null;
    /** Its name. */
    name: string;
    /** The text of the JSON Schema that the body of a request has to fit. */
    schema?: string | null;
    /** The highest data tier that it takes. */
    tier: number;
};

/** Offers a capability to the peers while this connection lasts, and for `[offer] linger-seconds` after it. */
export type OfferCapability = {
    /** Its name. */
    capability: string;
    /** One line for people. */
    description?: string | null;
    /** The JSON Schema that the body of a request has to fit. */
    schema?: unknown;
    /** The highest data tier that it takes; 1 when absent. */
    tier?: number | null;
};

/** The capability is offered. */
export type Offered = {
    /** Its name. */
    capability: string;
    /** The highest data tier that it takes. */
    tier: number;
};

/** A part of the outbox. */
export type Outbox = {
    /** By peer, oldest first. */
    messages?: Outgoing[];
    /** How many there are in all. */
    waiting?: number;
};

/** A message of ours and where it is. */
export type Outgoing = {
    /** Of an open request, why the last answer to it was refused here: the name of a reason. */
    "answer-refused"?: string | null;
    /** Whose refusal it is. */
    by?: Whose | null;
    /** When its life ends, while it is not settled; of a request that the peer has, from when on no answer is taken. */
    expires?: string | null;
    /** The agents whose alarm keeps it here. */
    "held-by"?: string[] | null;
    /** Its name. */
    "message-id": string;
    /** What the peer offers, where it was refused here because it named none of several (`capability-needed`). */
    offers?: string[] | null;
    /** For whom it is. */
    peer: string;
    /** The newest that the peer's agent told of it. */
    progress?: ToldProgress | null;
    /** Why it was refused, or where its end is unknown: the name of a reason. */
    reason?: string | null;
    /** Its number in that session. */
    sequence?: number | null;
    /** The session in which it was signed, while it is not settled. */
    session?: string | null;
    /** Since when; of what is not settled, when it was written. */
    since: string;
    /** Where it is. */
    state: State;
    /** Of a published one, whether the peer's mailbox holds it. */
    stored?: boolean | null;
    /** Of an open request that the peer has, whether its agent has taken it; absent where nobody can tell. */
    taken?: boolean | null;
    /** What kind of message it is, while it is not settled. */
    type?: string | null;
    /** What keeps it here. */
    "waits-for"?: WaitsFor | null;
};

/** A part of an answer. */
export type Part = {
    /** What it says. */
    body?: unknown;
    /** Its number, from 0 on. */
    index: number;
    /** Whether it is the last one. */
    last: boolean;
    /** To which of several results it belongs, in 200 characters. */
    name?: string | null;
};

/** An agent that is known. */
export type Peer = {
    /** The words of its root key. */
    fingerprint?: string | null;
    /** Whether a handshake is under way. */
    handshake: boolean;
    /** The skill layers that its certificate proves. */
    layers?: number[] | null;
    /** When that certificate ends. */
    "not-after"?: string | null;
    /** Calls of the peer's over its budget, refused since the start. */
    "over-budget": number;
    /** The agent. */
    peer: string;
    /** The person for whom it acts. */
    principal?: string | null;
    /** The number of its newest certificate. */
    serial?: number | null;
    /** The session that the next message would use. */
    session?: string | null;
    /** When that session ends. */
    "session-ends"?: string | null;
    /** Messages of ours without a receipt. */
    unconfirmed: number;
    /** The versions of the protocol that its certificate lists. */
    versions?: string[] | null;
    /** Messages of ours that wait. */
    waiting: number;
    /** Calls of ours over the budget that the peer granted, not sent since the start. */
    withheld: number;
};

/** Says to whoever asked how a request goes. It never settles the request. */
export type Progress = {
    /** The request. */
    message: Name;
    /** In words. */
    note?: string | null;
    /** A part of the answer that is ready. */
    part?: Part | null;
    /** How it goes. */
    state: ProgressState;
};

/** How a request goes. */
export type ProgressState = "working" | "input-required";

/** The name of a message that a call made. */
export type Progressed = {
    /** Its message-id. */
    "message-id": string;
};

/** The stable name of a refusal: one of the daemon's own, or a reason of the protocol. */
export type Reason = "peer-unknown" | "peer-resembles" | "peer-revoked" | "too-many-strangers" | "stranger-unknown" | "stranger-ambiguous" | "draft-unknown" | "paused" | "keys-refused" | "config-unusable" | "no-card" | "outbox-full" | "too-many-requests" | "not-waiting" | "not-quarantined" | "answer-waits" | "message-unknown" | "ambiguous" | "no-request" | "not-remembered" | "is-handoff" | "too-many-tasks" | "wrong-clock" | "capability-needed" | "capability-reserved" | "key-reused" | "lease-ended" | "key-unfit" | "leased" | "offer-refused" | "offer-configured" | "no-session" | "approval-needed" | "history-unreadable" | "place-needed" | "disk-full" | "stopping" | "outcome-unknown" | "not-for-this-socket" | "beyond-ceiling" | "decision-unsigned" | "call-gone" | "carrier-unknown" | "carrier-taken" | "carrier-detached" | "carrier-busy" | "carrier-unreachable" | (string & {});

/** Takes the next messages that wait, each under a lease: until it ends nobody else gets them. */
export type Receive = {
    /** Only what asks for one of these; everything when absent. */
    capabilities?: string[] | null;
    /** Seconds that the lease lasts; 60 when absent. */
    lease?: number | null;
    /** At most so many; 1 when absent. */
    limit?: number | null;
    /** Seconds to wait when nothing is there, 3,600 at most. */
    wait?: number;
};

/** What was taken; nothing when the wait was over. */
export type Received = {
    /** Oldest first. */
    messages?: Leased[];
};

/** A refusal: its stable name, and what to do about it. */
export type Refusal = {
    /** The known agent that an unknown one resembles. */
    "did-you-mean"?: string | null;
    /** The message that may have been made. */
    "message-id"?: string | null;
    /** What to do about it. */
    next?: string | null;
    /** The stable name. */
    reason: Reason;
    /** Whose call it is, where it is not the caller's. */
    whose?: Role | null;
};

/** Nothing is taken in, answered or sent. */
export type Refusing = {
    /** Why. */
    reason: Reason;
    /** Since when. */
    since: string;
};

/** The answer is on its way. */
export type Replied = {
    /** The name of the answer. */
    "message-id": string;
};

/** What a holder reports. */
export type ReportState = "working" | "completed" | "failed" | "returned";

/** Says how a task goes. */
export type ReportTask = {
    /** In words. */
    note?: string | null;
    /** What came out: any JSON. */
    result?: unknown;
    /** Where it stands. */
    state: ReportState;
    /** The task. */
    task: string;
};

/** What names a request that waits in the inbox. */
export type RequestName = {
    /** The agent that sent it, where two peers may have used the same message-id. */
    from?: string | null;
    /** The name that its sender gave it. */
    "message-id": string;
};

/** Answers a request with `body`, or says with `decline` why there is no answer: `lease` or `message` names it. */
export type Respond = {
    /** The answer: any JSON. With `decline`, what programs read beside those words. */
    body?: unknown;
    /** Why there is no answer, in words for the peer. */
    decline?: string | null;
    /** The lease under which it was received. */
    lease?: string | null;
    /** The request, where it was not received under a lease. */
    message?: RequestName | null;
    /** One line for people. */
    summary?: string | null;
};

/** Who calls, told apart by the socket that the call comes by. */
export type Role = "person" | "agent" | "carrier";

/** A rule of the policy. */
export type Rule = "tier" | "layers" | "capability" | "capability-tier" | "other";

/** A message that came or went. */
export type Said = {
    /** What it says; absent where it is an error, and where it stays shut. */
    body?: unknown;
    /** What it asks for. */
    capability?: string | null;
    /** What it belongs to. */
    "conversation-id"?: string | null;
    /** 1 public, 2 household, 3 sensitive, 4 restricted. */
    "data-tier": number;
    /** `in` or `out`. */
    direction: string;
    /** The peer's refusal, where the message is one. */
    error?: Failure | null;
    /** When its life ends (RFC 3339). */
    "expires-at": string;
    /** The agent that sent it: its certificate and signature were verified. */
    from: string;
    /** How many agents the conversation has gone through. */
    hops: number;
    /** The message of ours that it answers. */
    "in-reply-to"?: string | null;
    /** The line of the log that tells of it. */
    line: number;
    /** Its name, unique for its sender. */
    "message-id": string;
    /** The person for whom that agent acts. */
    principal: string;
    /** True when it came sealed. */
    sealed?: boolean | null;
    /** Why what was sealed cannot be opened any more, in the place of a body. */
    shut?: string | null;
    /** One line for people. */
    summary?: string | null;
    /** When its sender says that it was made (RFC 3339). */
    timestamp: string;
    /** For whom it is. */
    to: string;
    /** What kind of message it is, such as `request`, `response` or `notification`. */
    type: string;
};

/** Sends a message to a peer, and waits for what becomes of it as long as `wait` says. */
export type Send = {
    /** What to say: any JSON. */
    body?: unknown;
    /** The capability that is asked for; of a request that names none, the only one that the peer offers. */
    capability?: string | null;
    /** The message-id of the call that this one follows from: its hops and conversation go on. */
    continues?: string | null;
    /** Whose call that was, where two peers used the same message-id. */
    "continues-from"?: string | null;
    /** What it belongs to. */
    "conversation-id"?: string | null;
    /** 1 to 4; 1 when absent. From 3 on it leaves sealed. */
    "data-tier"?: number | null;
    /** Whether it is for the people of the other side: it asks for no capability, whatever the peer offers. */
    "for-people"?: boolean;
    /** Whether the peer may be unknown although its id resembles a known one. */
    introduce?: boolean;
    /** The caller's own key: the same call again, with it, is the same message, for 30 days and also after a restart. 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
    key?: string | null;
    /** Whether an answer is wanted. */
    kind: Kind;
    /** Seconds that the message may wait and live; 72 hours when absent. */
    life?: number | null;
    /** Seconds after which it is enough that the peer's mailbox holds it. */
    "mailbox-after"?: number | null;
    /** The peer's agent-id. */
    peer: string;
    /** One line for the people who read the log. */
    summary?: string | null;
    /** Seconds to wait for what becomes of it, 3,600 at most. */
    wait?: number;
};

/** Hands work to a peer, within limits. */
export type SendHandoff = {
    /** The capabilities that the holder may ask others for. */
    capabilities?: string[] | null;
    /** The data tier of goal and input; 1 when absent. */
    "data-tier"?: number | null;
    /** How often it may be handed on. */
    depth?: number | null;
    /** What is to be done, 1 to 2,000 characters. */
    goal: string;
    /** Any JSON that the work needs. */
    input?: unknown;
    /** Whether the peer may be unknown although its id resembles a known one. */
    introduce?: boolean;
    /** Seconds until all of it ends, instead of `not-after`. */
    lasts?: number | null;
    /** When all of it ends (RFC 3339). */
    "not-after"?: string | null;
    /** The peer's agent-id. */
    peer: string;
    /** One line for people. */
    summary?: string | null;
    /** The highest data tier of what the holder says for the task. */
    tier?: number | null;
    /** The task of ours that it is handed on from; a new task when absent. */
    under?: string | null;
    /** Seconds to wait until the peer has it, 3,600 at most. */
    wait?: number;
};

/** Where a message of ours is, as far as it was waited for. */
export type Sent = {
    /** The answer, where it is answered. It stays in the inbox until it is acknowledged. */
    answer?: Message | null;
    /** Whose refusal it is. */
    by?: Whose | null;
    /** The agents whose alarm keeps it here. */
    "held-by"?: string[] | null;
    /** Its name. */
    "message-id": string;
    /** What the peer offers, where it was refused here because it named none of several (`capability-needed`). */
    offers?: string[] | null;
    /** Why it was refused, or where its end is unknown: the name of a reason. */
    reason?: string | null;
    /** Where it is. */
    state: State;
    /** True when the daemon stopped while it was waited for. */
    stopping?: boolean | null;
    /** Whether the peer's mailbox holds it. */
    stored?: boolean | null;
    /** The task that it gives, where it is a handoff. */
    task?: string | null;
    /** What keeps it here. */
    "waits-for"?: WaitsFor | null;
};

/** The card of this agent, or of a peer that is reached through it. The daemon makes it of its own configuration: no caller says what is signed. */
export type ShowCard = {
    /** The peer; this agent itself when absent. */
    peer?: string | null;
};

/** Where one message of ours is. */
export type ShowMessage = {
    /** The message. */
    "message-id": string;
};

/** One agent, with what it offers. */
export type ShowPeer = {
    /** The agent. */
    peer: string;
};

/** How the daemon does. */
export type ShowStatus = Record<string, never>;

/** All that is known of one task. */
export type ShowTask = {
    /** The task. */
    task: string;
};

/** A card with its signature. */
export type ShownCard = {
    /** The agent card of A2A 1.0 with `signatures`: JWS by the card key (docs/gateway.md). */
    card: unknown;
    /** The public key as a set of JWK (RFC 7517), for `/.well-known/jwks.json`. */
    keys: unknown;
};

/** An agent that is known, with what it offers. */
export type ShownPeer = {
    /** What it offers, while there is a session. */
    capabilities?: Offer[] | null;
    /** The words of its root key. */
    fingerprint?: string | null;
    /** Whether a handshake is under way. */
    handshake: boolean;
    /** The skill layers that its certificate proves. */
    layers?: number[] | null;
    /** When that certificate ends. */
    "not-after"?: string | null;
    /** Calls of the peer's over its budget, refused since the start. */
    "over-budget": number;
    /** The agent. */
    peer: string;
    /** The person for whom it acts. */
    principal?: string | null;
    /** The number of its newest certificate. */
    serial?: number | null;
    /** The session that the next message would use. */
    session?: string | null;
    /** When that session ends. */
    "session-ends"?: string | null;
    /** Messages of ours without a receipt. */
    unconfirmed: number;
    /** The versions of the protocol that its certificate lists. */
    versions?: string[] | null;
    /** Messages of ours that wait. */
    waiting: number;
    /** Calls of ours over the budget that the peer granted, not sent since the start. */
    withheld: number;
};

/** A task with its chain, and what we handed on of it. */
export type ShownTask = {
    /** What its holder may. */
    authority: Authority;
    /** When the handoff was noted. */
    began: string;
    /** From the first giver on. */
    chain: Step[];
    /** When it changed last. */
    changed: string;
    /** The data tier of goal and input. */
    "data-tier": number;
    /** Whether we hold it or gave it. */
    direction: Direction;
    /** What we handed on of it. */
    "given-on": TaskWithChain[];
    /** What is to be done; absent when it came sealed and stays shut. */
    goal?: string | null;
    /** The handoff's message-id. */
    "message-id": string;
    /** The next command of a person. */
    next: string;
    /** The holder's newest words. */
    note?: string | null;
    /** Who gave it to us, or to whom we gave it. */
    peer: string;
    /** Why it was declined: the name of a reason. */
    reason?: string | null;
    /** Where it stands. */
    state: TaskState;
    /** Its name. */
    task: string;
};

/** Where a message of ours is. The words move only forward. */
export type State = "queued" | "published" | "expired" | "unknown" | "received" | "answered" | "refused";

/** How the daemon does. What is for the person alone is absent on the agent's socket. */
export type Status = {
    /** The agent. */
    agent: string;
    /** How many alarms ring. */
    alarms?: number;
    /** What the clock says, where it stands outside the dates of the certificate. */
    clock?: Clock | null;
    /** The sections of the configuration that were changed and are not in force. */
    "config-waits"?: ConfigWaits;
    /** Whether it is connected to a server. */
    connected: boolean;
    /** How many drafts wait. */
    drafts?: number;
    /** The words of the person's root key. */
    fingerprint: string;
    /** How many messages wait in the inbox. */
    inbox: number;
    /** The newest durable line of the log. */
    log?: LogHead | null;
    /** What is wrong with finished months of the log. */
    "log-fault"?: string | null;
    /** Whether mail waits in a mailbox while the daemon is away. */
    mailbox: boolean;
    /** The readers of that mailbox. */
    "mailbox-readers"?: MailboxReaders;
    /** The command that tells the person, where the configuration names one. */
    notify?: NotifyState | null;
    /** Whether the agents of this person pause. */
    paused: boolean;
    /** The agents that are known. */
    peers: Peer[];
    /** How many strangers wait for an introduction. */
    pending?: number;
    /** The process of the daemon. */
    pid?: number;
    /** The person for whom it acts. */
    principal: string;
    /** How many messages could not be handled. */
    quarantine?: number;
    /** Why and since when it refuses everything, while it does. */
    refusing?: Refusing | null;
    /** Whether the person took the agent's certificate back. */
    revoked: boolean;
    /** Which. */
    ringing?: Alarm[];
    /** How many known people's names are used with other root keys. */
    "root-alarms"?: number;
    /** How many messages of agents that are trusted no more nobody took. */
    "set-aside"?: number;
    /** The release of the daemon. */
    version: string;
    /** The versions of the protocol that the agent's certificate lists. */
    versions?: string[];
};

/** One giver and one holder in the chain of a task. */
export type Step = {
    /** What the holder may. */
    authority: Authority;
    /** The words of the giver's root key. */
    fingerprint: string;
    /** Who gave it. */
    from: string;
    /** The hash of the mandate. */
    hash: string;
    /** When the mandate was signed. */
    "issued-at": string;
    /** With which key. */
    "key-id": string;
    /** In plain words, what this holder may no longer do. */
    narrowed: string[];
    /** The giver's person. */
    principal: string;
    /** Who got it. */
    to: string;
};

/** Wants to be told what moves: in a conversation, or about one message. One of both is named. */
export type Subscribe = {
    /** The conversation. */
    conversation?: string | null;
    /** The message. */
    message?: string | null;
};

/** From now on what moves comes as notifications: `conversation.message` and `message.progress`, each with a message, and `message.moved` with where a message of ours is. */
export type Subscribed = {
    /** Where the message is, where one was named that this agent sent. */
    state?: State | null;
    /** Whether the peer's agent has taken it; absent where nobody can tell. */
    taken?: boolean | null;
};

/** One task in short. */
export type Task = {
    /** What its holder may. */
    authority: Authority;
    /** When the handoff was noted. */
    began: string;
    /** When it changed last. */
    changed: string;
    /** The data tier of goal and input. */
    "data-tier": number;
    /** Whether we hold it or gave it. */
    direction: Direction;
    /** What is to be done; absent when it came sealed and stays shut. */
    goal?: string | null;
    /** The handoff's message-id. */
    "message-id": string;
    /** The next command of a person. */
    next: string;
    /** The holder's newest words. */
    note?: string | null;
    /** Who gave it to us, or to whom we gave it. */
    peer: string;
    /** Why it was declined: the name of a reason. */
    reason?: string | null;
    /** Where it stands. */
    state: TaskState;
    /** Its name. */
    task: string;
};

/** Where a task stands. */
export type TaskState = "offered" | "accepted" | "working" | "declined" | "completed" | "failed" | "returned" | "expired";

/** A task with the chain of those who gave it. */
export type TaskWithChain = {
    /** What its holder may. */
    authority: Authority;
    /** When the handoff was noted. */
    began: string;
    /** From the first giver on. */
    chain: Step[];
    /** When it changed last. */
    changed: string;
    /** The data tier of goal and input. */
    "data-tier": number;
    /** Whether we hold it or gave it. */
    direction: Direction;
    /** What is to be done; absent when it came sealed and stays shut. */
    goal?: string | null;
    /** The handoff's message-id. */
    "message-id": string;
    /** The next command of a person. */
    next: string;
    /** The holder's newest words. */
    note?: string | null;
    /** Who gave it to us, or to whom we gave it. */
    peer: string;
    /** Why it was declined: the name of a reason. */
    reason?: string | null;
    /** Where it stands. */
    state: TaskState;
    /** Its name. */
    task: string;
};

/** The tasks. */
export type Tasks = {
    /** Newest first. */
    tasks?: Task[];
};

/** How a request of ours goes, in its peer's words. */
export type ToldProgress = {
    /** 1 public, 2 household, 3 sensitive, 4 restricted; absent from a daemon of an earlier release. */
    "data-tier"?: number | null;
    /** In the peer's words; absent where there are none, or they came sealed. */
    note?: string | null;
    /** When the peer said so (RFC 3339). */
    since: string;
    /** How it goes; absent where that came sealed. */
    state?: ProgressState | null;
};

/** A message that waits. */
export type Waiting = {
    /** What it says; absent where it is an error, and where it stays shut. */
    body?: unknown;
    /** What it asks for. */
    capability?: string | null;
    /** What it belongs to. */
    "conversation-id"?: string | null;
    /** 1 public, 2 household, 3 sensitive, 4 restricted. */
    "data-tier": number;
    /** The peer's refusal, where the message is one. */
    error?: Failure | null;
    /** When its life ends (RFC 3339). */
    "expires-at": string;
    /** The agent that sent it: its certificate and signature were verified. */
    from: string;
    /** How many agents the conversation has gone through. */
    hops: number;
    /** The message of ours that it answers. */
    "in-reply-to"?: string | null;
    /** Its name, unique for its sender. */
    "message-id": string;
    /** Its number in the inbox: rising. */
    number: number;
    /** The person for whom that agent acts. */
    principal: string;
    /** True when it came sealed. */
    sealed?: boolean | null;
    /** Why what was sealed cannot be opened any more, in the place of a body. */
    shut?: string | null;
    /** One line for people. */
    summary?: string | null;
    /** When its sender says that it was made (RFC 3339). */
    timestamp: string;
    /** What kind of message it is, such as `request`, `response` or `notification`. */
    type: string;
};

/** What keeps a message of ours here. */
export type WaitsFor = "approval" | "introduction" | "resume" | "clock" | "alarm" | "session" | "peer" | "connection";

/** Which way a message goes. */
export type Way = "send" | "receive";

/** Who refused a message of ours. */
export type Whose = "peer" | "self";

/** Every call of the agent's socket: what it takes and gives. */
export interface Calls {
    "send": { params: Send; result: Sent };
    "receive": { params: Receive; result: Received };
    "respond": { params: Respond; result: Replied };
    "acknowledge": { params: Acknowledge; result: Acknowledged };
    "fail": { params: Fail; result: Failed };
    "extend": { params: ExtendLease; result: Extended };
    "progress": { params: Progress; result: Progressed };
    "offer": { params: OfferCapability; result: Offered };
    "subscribe": { params: Subscribe; result: Subscribed };
    "narrow": { params: Narrow; result: Narrowed };
    "history": { params: ListHistory; result: History };
    "inbox.list": { params: ListInbox; result: Inbox };
    "inbox.follow": { params: FollowInbox; result: Inbox | null };
    "outbox.list": { params: ListOutbox; result: Outbox };
    "message.status": { params: ShowMessage; result: Outgoing };
    "message.find": { params: FindMessage; result: FoundMessage };
    "handoff.send": { params: SendHandoff; result: Sent };
    "handoff.accept": { params: AcceptTask; result: DecidedTask };
    "handoff.decline": { params: DeclineTask; result: DecidedTask };
    "handoff.report": { params: ReportTask; result: DecidedTask };
    "handoff.list": { params: ListTasks; result: Tasks };
    "handoff.show": { params: ShowTask; result: ShownTask };
    "peer.list": { params: ListPeers; result: Peer[] };
    "peer.show": { params: ShowPeer; result: ShownPeer };
    "card.show": { params: ShowCard; result: ShownCard };
    "policy.check": { params: CheckPolicy; result: Answered };
    "status": { params: ShowStatus; result: Status };
}

/** What the daemon tells after `inbox.follow` and `subscribe`. */
export interface Notifications {
    "carrier.parcel": CarriedParcel;
    "conversation.message": Message;
    "inbox.message": Message;
    "message.moved": Moved;
    "message.progress": Message;
}

/** The daemon's own reasons to refuse a call. */
export const REASONS = [
    "peer-unknown",
    "peer-resembles",
    "peer-revoked",
    "too-many-strangers",
    "stranger-unknown",
    "stranger-ambiguous",
    "draft-unknown",
    "paused",
    "keys-refused",
    "config-unusable",
    "no-card",
    "outbox-full",
    "too-many-requests",
    "not-waiting",
    "not-quarantined",
    "answer-waits",
    "message-unknown",
    "ambiguous",
    "no-request",
    "not-remembered",
    "is-handoff",
    "too-many-tasks",
    "wrong-clock",
    "capability-needed",
    "capability-reserved",
    "key-reused",
    "lease-ended",
    "key-unfit",
    "leased",
    "offer-refused",
    "offer-configured",
    "no-session",
    "approval-needed",
    "history-unreadable",
    "place-needed",
    "disk-full",
    "stopping",
    "outcome-unknown",
    "not-for-this-socket",
    "beyond-ceiling",
    "decision-unsigned",
    "call-gone",
    "carrier-unknown",
    "carrier-taken",
    "carrier-detached",
    "carrier-busy",
    "carrier-unreachable",
] as const;
