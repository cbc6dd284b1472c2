"""Takes each check out of this agent in turn, and says which of them the vectors do not notice: `leave_out.py DIR`. A check is
noticed when an input is taken that has to be refused. So each check needs an input that differs in that alone from one that is
accepted: where a second check refuses it as well, nobody learns that the first is missing.

The checks are what `require` is given, the conditions of `raise Refused`, and what the predicates return: the functions whose
result a verdict hangs on, which are found by their calls. Each part of an `and` is one, also within an `or`, and each
link of a chain of comparisons; they are read out of the source, so that none is forgotten. `--list` prints their table."""
import ast
import collections
import importlib.abc
import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
JUDGES = ["wire", "state", "carrier", "peer", "whole"]
# What a verdict hangs on beside `require` and the predicates: a poll that is not due is counted, and what is no address passed over.
ROOTS = {"is_due", "is_http"}


# What speaks for the agent, and what its person hands in: nothing comes there from outside.
SPEAKS = {"session", "send", "ask", "serve", "__init__"}
# No input that comes by the inbox can show these, and why.
UNSEEN = {
    "carrier.Inbox.take: m.sender != self.peer.id": "nobody knows itself: without the check it is agent-unknown",
    "carrier.Inbox.take: not late": "only what has a number is late, and a poll has none",
    "peer.Peer.take: m.sender != self.id": "nobody knows itself: without the check it is agent-unknown",
    "peer.Peer.permitted: capability in s.offers": "this agent grants only what it offers",
    "peer.Peer.ordered: m.method == 'agent.revoke'": "whole.py judges pauses in its place",
    "peer.Peer.fitting: not m.method or m.h.get('capability') != 'signet.task'": "whole.py judges reports in its place",
    "peer.Peer.flight: shake or len(self.handshakes) < 64": "it takes 64 half-open handshakes",
    "peer.Peer.flight: shake.ours == n % 2": "it answers each flight at once, so that their number says whose the next is",
    "wire.spelt_once: len(text) % 4 != 1": "such a text cannot be decoded",
    "wire.number: len(literal) < 18": "it spares the work for what is out of range in any case",
    "wire.number: abs(value) < float('inf')": "what follows it refuses that number as well",
    "state.Trust.prove: m.n or not late": "Peer.take refuses the same, behind the signature",
    "whole.controls: signing_point(unb64(c['root-key']))": "libsodium takes no signature under such a key",
    "wire.signing_point: int.from_bytes(raw, 'little') % 2 ** 255 < 2 ** 255 - 19": "libsodium finds it as well",
    "state.Home.opened: type(inner) is dict": "the parser refuses an array before",
}
# What follows one of these cannot work without it, or says the same: the verdict is another one without it, and no acceptance.
LEANED_ON = {
    "wire.parse: not text.startswith('\\ufeff')", "wire.parse: not any((re.search('[\\ud800-\\udfff]', string) for string in strings))",
    "wire.Message.read: m.h.keys() >= set(HEADERS['required'] + ['in-reply-to'] * answers)",
    "wire.Message.read: m.h.keys() <= HEADERS['properties'].keys()",
    "state.Trust.prove: m.sender in self.known", "state.Trust.prove: c",
    "state.Trust.judge: (m.sender, c['root-key']) not in self.refused", "state.Trust.judge: known",
    "whole.Whole.ordered: control['serial'] >= self.control", "whole.Whole.handed: now <= instant(mandate['not-after'])",
    "whole.Whole.reported: given", "peer.Peer.in_session: s", "peer.Peer.in_session: receipt or m.n",
    "peer.Peer.in_session: m.method != 'agent.offer' or m.tier <= 2",
    "peer.Peer.flight: shake", "peer.Peer.flight: len(shake.flights) == n",
    "peer.Peer.permitted: asked",
    "state.Handshake.follows: n != 1 or common or body['choice'] is None",
}


class Checks(ast.NodeTransformer, importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Loads the agent so that each of its checks can be left out while it runs."""

    def __init__(self):
        self.names, self.out, self.refusing, self.place = [], None, set(), []
        self.predicates = predicates()

    def find_spec(self, name, path=None, target=None):
        file = HERE / f"{name}.py"
        return importlib.util.spec_from_file_location(name, file, loader=self) if name in JUDGES and file.exists() else None

    def create_module(self, spec): return None

    def exec_module(self, module):
        self.place = [module.__name__]
        tree = ast.fix_missing_locations(self.visit(ast.parse(pathlib.Path(module.__spec__.origin).read_text())))
        module.__dict__["_is_out"], module.__dict__["_holds"] = self.is_out, self.holds
        exec(compile(tree, module.__spec__.origin, "exec"), module.__dict__)

    def is_out(self, check):
        return check == self.out

    def holds(self, check, value):
        if not value:
            self.refusing.add(check)
        return value

    def visit_FunctionDef(self, node):
        self.place.append(node.name)
        self.generic_visit(node)
        self.place.pop()
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "require":
            node.args[0] = self.parts(node.args[0])
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if self.place[-1] in self.predicates and node.value:
            node.value = self.parts(node.value)
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        last = node.body[-1]
        if isinstance(last, ast.Raise) and "Refused" in ast.unparse(last):
            refused = ast.UnaryOp(ast.Not(), node.test)
            node.test = ast.UnaryOp(ast.Not(), self.parts(refused))
        return node

    def parts(self, condition):
        if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
            return ast.BoolOp(ast.And(), [self.parts(part) for part in condition.values])
        if isinstance(condition, ast.BoolOp) and any(map(is_several, condition.values)):
            return ast.BoolOp(ast.Or(), [self.parts(part) if is_several(part) else part for part in condition.values])
        if isinstance(condition, ast.Compare) and len(condition.ops) > 1:  # what stands in the middle has no effect
            links = zip([condition.left, *condition.comparators], condition.ops, condition.comparators)
            return ast.BoolOp(ast.And(), [self.parts(ast.Compare(left, [op], [right])) for left, op, right in links])
        if self.place[-1] in SPEAKS or isinstance(condition, ast.Constant):
            return condition
        self.names.append(f"{'.'.join(self.place)}: {ast.unparse(condition)}")
        check = ast.Constant(len(self.names) - 1)
        return ast.BoolOp(ast.Or(), [ast.Call(ast.Name("_is_out", ast.Load()), [check], []),
                                     ast.Call(ast.Name("_holds", ast.Load()), [check, condition], [])])


def is_several(condition):
    return (isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And)
            or isinstance(condition, ast.Compare) and len(condition.ops) > 1)


def predicates():
    """The agent's functions that give a truth and are called where a verdict is made, by `require` or by another predicate."""
    trees = [ast.parse((HERE / f"{name}.py").read_text()) for name in JUDGES]
    functions = collections.defaultdict(list)
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        functions[node.name].append(node)
    asked = [call.args[0] for tree in trees for call in ast.walk(tree)
             if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require"]
    found, asked = set(), asked + [node for name in ROOTS for node in functions[name]]
    while asked:
        for name in map(called, truths(asked.pop())):
            if name in functions and name not in found and all(map(gives_truth, functions[name])):
                found.add(name)
                asked += [back.value for one in functions[name] for back in ast.walk(one) if isinstance(back, ast.Return)]
    return found | ROOTS


def truths(condition):
    """The calls whose truth makes that of a condition; of what is denied the falsehood does."""
    if isinstance(condition, ast.BoolOp):
        return [call for part in condition.values for call in truths(part)]
    if isinstance(condition, ast.FunctionDef):
        return [call for back in ast.walk(condition) if isinstance(back, ast.Return) for call in truths(back.value)]
    if isinstance(condition, ast.Call) and isinstance(condition.func, ast.Name) and condition.func.id in ("all", "any"):
        return truths(getattr(condition.args[0], "elt", None))
    return [condition] if isinstance(condition, ast.Call) else []


def called(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)


def gives_truth(function):
    """Whether all that it gives back is a condition."""
    backs = [back.value for back in ast.walk(function) if isinstance(back, ast.Return)]
    return bool(backs) and all(
        isinstance(back, (ast.BoolOp, ast.Compare, ast.UnaryOp)) or isinstance(back, ast.Constant) and type(back.value) is bool
        or isinstance(back, ast.Call) and called(back) in ("all", "any", "fits", "proven", "stated") for back in backs)


def main(folder):
    checks = Checks()
    sys.meta_path.insert(0, checks)
    sys.path.insert(0, str(HERE))
    import vectors
    home, refused_by = vectors.recipient(folder), collections.defaultdict(list)
    for kind, name, vector in vectors.all_in(folder):
        checks.refusing = set()
        if vectors.said_of(folder, kind, vector, home) is not True:
            sys.exit(f"{kind}/{name} does not hold with all checks in their places")
        for check in checks.refusing:
            refused_by[check].append((f"{kind}/{name}", kind, vector))
    faults = [f"{name} is excused, and no check" for name in sorted((UNSEEN.keys() | LEANED_ON) - set(checks.names))]
    for check, name in enumerate(checks.names):
        checks.out = check
        notices = differs if name in LEANED_ON else vectors.is_taken
        shown = next((file for file, kind, vector in refused_by[check] if notices(folder, kind, vector, home)), None)
        if "--list" in sys.argv:
            print(f"{name}: {shown or UNSEEN.get(name)}")
        if bool(shown) == (name in UNSEEN):
            faults.append(f"{name} is {'excused, and ' + shown + ' shows it' if shown else 'noticed by no vector'}")
    print(*faults, f"{len(checks.names)} checks; {len(faults)} faults", sep="\n")
    return 1 if faults else 0


def differs(folder, kind, vector, home):
    import vectors
    try:
        return vectors.KINDS[kind](folder, vector, home) is not True
    except Exception:
        return True


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
