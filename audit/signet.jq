# Reads the audit log of signet, for jq 1.6 and newer:
#
#   jq -L audit -r 'include "signet"; said | row' audit/agent-alice-001/inter-agent-2026-11.jsonl
#
# -L names the folder of this file: /usr/share/signet/audit where the package put it, /usr/local/share/signet/audit
# after `make install`.
#
# said, refused_by_us, thread(id), task(id) choose lines as they come: `tail -F "$log" | jq …` follows.
# refused, forbidden, unanswered and conversations read all lines first, whether jq is called with -n, with -s or without either.
# Lines of version 1, which older releases wrote, are understood as those of version 2 are.

# The envelope of the message in a line: headers, summary, body, signature.
def envelope: .message | (.params? // .result? // .error?.data? // {});

def is_call: test("^agent\\.(request|notification|handoff)$");

# The line with the members of version 2, whichever version it has.
def line:
  if .v != 1 then .
  elif .kind == "message" or .kind == "draft" then
    (.headers // (envelope | .headers) // {}) as $h
    | (.message.method? // null) as $method
    | . + ({
        id: ($h["message-id"] // .["message-id"]),
        method: $method,
        class: (if $h == {} then null
                elif $method == null or ($method | is_call) then "application" else "control" end),
        conversation: $h["conversation-id"],
        "in-reply-to": $h["in-reply-to"],
        principal: $h["principal-id"],
        "peer-reason": (if .dir == "in" then .message.error?.data?.reason? else null end)
      } | with_entries(select(.value != null)))
  elif has("message-id") then . + {id: .["message-id"]}
  else . end;

# All lines of the log, whatever jq was called with.
def lines: [., inputs] | map(if type == "array" then .[] else . end) | .[] | select(type == "object") | line;

# What agents said to each other: requests, answers, notifications, handoffs and reports, without the
# handshakes, receipts and orders that the protocol needs, and without what was refused.
def said: line | select(.kind == "message" and .class == "application" and .verdict != "rejected");

# What a message carries, in clear; null for what is sealed (`signet audit open` reads that).
def body: envelope | .body;

# Whether what a message carries is sealed.
def is_sealed: envelope | has("sealed");

# Text that a stranger may have written, safe for a terminal: what is hidden or moves the cursor is a "\ufffd".
def safe: gsub("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]"; "\ufffd");

# A line in words: the summary, or what is carried, or why it is declined, or what became of a task.
def words:
  line
  | if .kind == "attempt" then
      ([if .call then "calls \(.call)" elif .type then "\(.type), tier \(.tier)" else "several" end, .capability,
        (if .count > 1 then "\(.count) times" else null end)] | map(select(.)) | join(", ")) + ": \(.reason)"
    elif .kind == "approval" then .decision
    elif .kind == "outcome" then [.what, .reason] | map(select(.)) | join(": ")
    elif .kind == "loss" then "line \(.line) was lost, and that was accepted"
    elif .kind == "trust" then .change
    elif .kind == "pause" then (if .paused then "paused" else "resumed" end)
    elif .kind == "alarm" then "\(.what)\(if .cleared then ", cleared" else "" end)"
    elif .kind == "handoff" then [.change, .goal // .note // .reason] | map(select(.)) | join(": ")
    elif .summary then .summary
    elif is_sealed then "(sealed)"
    elif .message.error?.message? then "declines: " + .message.error.message
    elif (body | type) == "object" and (body | has("task")) then
      body | [.state // .decision, .goal // .note // (.result | select(.) | tojson)] | map(select(.)) | join(": ")
    elif body != null then body | tojson
    else "-" end
  | safe;

# One line of text: when, from whom to whom, what.
def row:
  line
  | (if .dir == "out" or (.kind | IN("draft", "approval", "attempt")) then
       if .peer then "me -> \(.peer)" else "me" end
     elif .dir == "in" then "\(.peer // "?") -> me"
     else "me" + (if .peer then ", about \(.peer)" else "" end) end) as $way
  | [.ts[:19], $way, (if .kind == "message" then .type // "?" else .kind end), words] | @tsv;

# What belongs to a conversation or a task, or is about one message and its answer.
def thread($id):
  line | select(.class != "control" and (.conversation == $id or .id == $id or .["in-reply-to"] == $id));

# How a task went: a line for each change.
def task($id): line | select(.kind == "handoff" and .task == $id);

# What came to us and was refused here.
def refused_by_us: line | select(.kind == "message" and .verdict == "rejected");

# What was refused, and why: here (`by` is "me"), and by peers, who say so in an answer or in a receipt.
def refused:
  [lines]
  | (map(select(.dir == "out" and .verdict == "sent" and .message) | (envelope | .headers) as $h
      | select($h.sequence) | {key: "\($h.session) \($h.sequence)", value: .}) | from_entries) as $numbered
  | (map(select(.kind == "message" and .dir == "out" and .id) | {key: .id, value: .}) | from_entries) as $named
  | reduce (.[] | if .verdict == "rejected" then
        {seq, ts, by: "me", peer, reason, id, type, what: (.summary // "-")}
      elif .["peer-reason"] then
        $named[.["in-reply-to"]] as $ours
        | {seq, ts, by: .peer, peer, reason: .["peer-reason"], id: .["in-reply-to"], type: ($ours.type // null),
           what: (if $ours then ($ours | words) else "-" end)}
      elif .method == "agent.receipt" and .dir == "in" then
        . as $receipt | envelope | .headers.session as $session
        | (.body.except // [])[] | select(.reason != "missing" and (has("hash") | not))
        | . as $refusal | $numbered["\($session) \(.sequence)"] as $ours | select($ours)
        | {seq: $receipt.seq, ts: $receipt.ts, by: $receipt.peer, peer: $receipt.peer, reason: $refusal.reason,
           id: $ours.id, type: $ours.type, what: ($ours | words)}
      else empty end) as $one
    # A refused request is told twice, in its answer and in every receipt until that is known.
    ({seen: {}, all: []};
      ([$one.by, $one.reason, $one.id] | tojson) as $key
      | if $one.by != "me" and .seen[$key] then . else .seen[$key] = true | .all += [$one] end)
  | .all[];

# All that our own agent was not allowed: what it tried and its own side refused (`by` is "me", `count` says how often,
# and `what` a call of a socket or what it would have sent), drafts that the person refused (`by` is "my person"), and
# what peers refused (`by` is the peer).
def forbidden:
  [lines] as $all
  | ($all | map(select(.kind == "draft" or (.kind == "message" and .dir == "out")) | select(.id) | {key: .id, value: .})
      | from_entries) as $ours
  | [$all[]
     | if .kind == "attempt" then
         {seq, ts, by: "me", peer, reason, id: null, type: (.type // null), what: words, count}
       elif .kind == "approval" and .decision == "refused" then
         {seq, ts, by: "my person", peer, reason: "not-approved", id, type: ($ours[.id].type // null),
          what: (if $ours[.id] then ($ours[.id] | words) else "-" end), count: 1}
       elif .what == "draft-refused" and .reason != "not-approved" then
         {seq, ts, by: "me", peer, reason, id, type: ($ours[.id].type // null),
          what: (if $ours[.id] then ($ours[.id] | words) else "-" end), count: 1}
       else empty end]
    + [$all | refused | select(.by != "me") | . + {count: 1}]
  | sort_by(.seq) | .[];

# The conversations: who took part, how much was said, from when to when, and the last words.
def conversations:
  [lines | said | select(.conversation)]
  | group_by(.conversation) | sort_by(.[-1].seq)[]
  | {conversation: .[0].conversation, peers: (map(.peer) | unique), said: length, from: .[0].ts, to: .[-1].ts,
     last: (.[-1] | words)};

# Requests and handoffs, ours and theirs, that have no answer yet.
def unanswered:
  [lines]
  | (map(select(.kind == "message" and .verdict != "rejected" and .["in-reply-to"]) | {key: .["in-reply-to"], value: true})
      | from_entries) as $answered
  | .[]
  | select(.kind == "message" and .verdict != "rejected" and (.type == "request" or .type == "handoff"))
  | select($answered[.id] | not);
