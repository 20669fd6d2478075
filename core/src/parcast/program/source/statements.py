"""Statements of the language, from Python's tree; anything else is an error with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NoReturn

from parcast.errors import FileError, FormulaError, did_you_mean
from parcast.program.source import operations
from parcast.program.source.attributes import assigned, expressions, handed_on
from parcast.program.source.operations import IN_TASKS, OFFLOADED, OPERATIONS, REQUESTS, REQUIRED
from parcast.program.source.tree import (
    Argument,
    Assign,
    For,
    If,
    Op,
    Pool,
    Site,
    Statement,
    nested,
)
from parcast.quantities.expressions import (
    BINARY,
    FUNCTIONS,
    Call,
    Expr,
    Name,
    Num,
    describe,
    from_ast,
    names_in,
    reads,
)

#: Names that mean something to the language and can be no variable.
RESERVED = frozenset({"rank", "size", "range", "pool", "ANY", *OPERATIONS, *FUNCTIONS})

_HINTS: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.While: ("'while'", "write a 'for' loop over range()"),
    ast.Break: ("'break'", "give the loop its bound"),
    ast.Continue: ("'continue'", "put the rest of the body under an 'if'"),
    ast.Return: ("'return'", "put the rest of the program under an 'if'"),
    ast.Import: ("'import'", "the functions and operations are there without it"),
    ast.ImportFrom: ("'import'", "the functions and operations are there without it"),
    ast.FunctionDef: ("a nested function", "write its statements where it is called"),
    ast.AnnAssign: ("a variable's annotation", "write 'x = ...'"),
    ast.Try: ("'try'", "use 'if'"),
    ast.Match: ("'match'", "use 'if'"),
}


class Reader:
    """Turns the statements of one program into its tree, and notes where its operations stand.

    Parameters
    ----------
    where
        The file, which starts every error's sentence.
    parameters
        Names that have a value from the start, beside ``rank`` and ``size``.

    Attributes
    ----------
    sites
        Every operation and pool that was read, in the order of the text.
    offloads
        Whether any of them may compute on an accelerator.
    """

    def __init__(self, where: str, parameters: Mapping[str, object]) -> None:
        self._where = where
        self._parameters = parameters
        self.sites: list[Site] = []
        self.offloads = False
        self._variables: set[str] = set()
        self._requests: dict[str, int] = {}
        self._read: list[Name] = []
        self._waited: list[tuple[str, int]] = []
        self._in_pools: dict[str, int] = {}

    def program(self, statements: list[ast.stmt]) -> tuple[Statement, ...]:
        """Return the body of the program.

        Raises
        ------
        FileError
            For anything outside the language, naming the line and the construct.
        """
        body = self._body(statements)
        for name, line in self._requests.items():
            if name in self._variables or name in self._parameters:
                self._fail(line, f"{name!r} is a number and a request; give them two names")
        for name, line in self._waited:
            if name not in self._requests:
                hint = did_you_mean(name, self._requests)
                self._fail(line, f"no isend() or irecv() gives a request called {name!r}.{hint}")
        for read in self._read:
            self._check_known(read)
        outside = set(assigned(tuple(_outside_pools(body)))) if self._in_pools else ()
        for name, line in self._in_pools.items():
            if name in outside:
                self._fail(line, f"{name!r} is set in a task and outside; give it another name")
        return body

    def _check_known(self, read: Name) -> None:
        names = {"rank", "size", *self._parameters, *self._variables}
        if read.id in names:
            return
        if read.id in self._requests:
            self._fail(read.line, f"{read.id!r} is a request, which only wait() can take")
        if read.id == "ANY":
            self._fail(read.line, "ANY stands only for the source of recv()")
        if read.id in RESERVED:
            self._fail(read.line, f"{read.id!r} must be called: {read.id}(...)")
        hint = did_you_mean(read.id, names) or f" Known: {', '.join(sorted(names))}."
        self._fail(read.line, f"nothing is called {read.id!r}.{hint}")

    def _fail(self, line: int, sentence: str) -> NoReturn:
        raise FileError(f"{self._where}:{line}: {sentence}")

    def _body(self, statements: list[ast.stmt]) -> tuple[Statement, ...]:
        return tuple(statement for node in statements for statement in self._statement(node))

    def _statement(self, node: ast.stmt) -> Iterator[Statement]:
        at = (node.lineno, node.col_offset)
        match node:
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield self._assigned(name, value, at)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in BINARY:
                self._variable(name, node.lineno)
                self._read.append(Name(name, *at))
                total = Call(BINARY[type(op)], (Name(name, *at), self._expression(value)), *at)
                yield Assign(name, total, *at)
            case ast.Assign() | ast.AugAssign():
                self._fail(node.lineno, "a statement assigns to one variable: 'x = ...'")
            case ast.For(target=ast.Name(id=name), orelse=[]):
                yield self._loop(node, name)
            case ast.For():
                self._fail(node.lineno, "a loop is 'for x in range(...):', without 'else'")
            case ast.If(test=test, body=body, orelse=orelse):
                yield If(self._expression(test), self._body(body), self._body(orelse), *at)
            case ast.Expr(value=ast.Call() as call):
                yield self._operation(call, None)
            case _:
                self._refuse(node)

    def _refuse(self, node: ast.stmt) -> NoReturn:
        if isinstance(node, ast.Expr):
            self._fail(node.lineno, f"{describe(node.value)} on its own does nothing; remove it")
        word, hint = _HINTS.get(type(node), (f"'{type(node).__name__.lower()}'", ""))
        allowed = "assignments, 'for', 'if' and operations are"
        self._fail(node.lineno, f"{word} is not in the language; {hint or allowed}")

    def _variable(self, name: str, line: int) -> str:
        if name in RESERVED:
            self._fail(line, f"{name!r} has a meaning of its own; give the variable another name")
        self._variables.add(name)
        return name

    def _assigned(self, name: str, value: ast.expr, at: tuple[int, int]) -> Statement:
        called = value.func if isinstance(value, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in REQUESTS:
            if name in RESERVED:
                self._variable(name, at[0])
            self._requests.setdefault(name, at[0])
            return self._operation(value, name)  # type: ignore[arg-type]  # it is a call
        return Assign(self._variable(name, at[0]), self._expression(value), *at)

    def _expression(self, node: ast.expr) -> Expr:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                name, line = inner.func.id, inner.lineno
                if name in REQUESTS:
                    self._fail(line, f"{name}() stands alone or as 'r = {name}(...)'")
                if name in OPERATIONS:
                    self._fail(line, f"{name}() gives no value; write it on a line of its own")
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            text = f"{node.value!r} is a text where a number belongs"
            self._fail(node.lineno, f"{text}: seconds, bytes or operations, without a unit")
        try:
            expr = from_ast(node)
        except FormulaError as error:
            self._fail(node.lineno, str(error))
        self._read += reads(expr)
        return expr

    def _loop(self, node: ast.For, name: str) -> For | Pool:
        at = (node.lineno, node.col_offset)
        if _calls(node.iter, "pool"):
            return self._pool(node, name, at)
        start, stop, step = self._range(node.iter, at)
        self._variable(name, node.lineno)
        return For(name, start, stop, step, self._body(node.body), *at)

    def _range(self, call: ast.expr, at: tuple[int, int]) -> tuple[Expr, Expr, Expr]:
        if not _calls(call, "range"):
            self._fail(at[0], "a loop goes over range(...), or pool(range(...)), only")
        assert isinstance(call, ast.Call)
        if call.keywords or not 1 <= len(call.args) <= 3:
            self._fail(at[0], "range() takes stop, or start, stop and perhaps step")
        bounds = [self._expression(arg) for arg in call.args]
        if len(bounds) == 1:
            bounds.insert(0, Num(0, *at))
        start, stop, step = (*bounds, Num(1, *at))[:3]
        return start, stop, step

    def _pool(self, node: ast.For, name: str, at: tuple[int, int]) -> Pool:
        """Return a pool, if its tasks are the same whoever does them."""
        call = node.iter
        assert isinstance(call, ast.Call)
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if len(call.args) != 1 or keywords.keys() - {"bytes", "result", "master"}:
            self._fail(at[0], "pool() takes a range(...), bytes=, result= and master=")
        if "result" in keywords and "master" not in keywords:
            self._fail(at[0], "results are sent to a master; name it: pool(..., result=, master=0)")
        site = self._site("pool", at)
        start, stop, step = self._range(call.args[0], at)
        amount, result = (
            self._expression(keywords[name]) if name in keywords else Num(0, *at)
            for name in ("bytes", "result")
        )
        master = self._expression(keywords["master"]) if "master" in keywords else None
        self._variable(name, at[0])
        body = self._body(node.body)
        pool = Pool(name, start, stop, step, amount, body, site, *at, result, master)
        self._in_pools |= {name: at[0], **dict.fromkeys(assigned(pool.body), at[0])}
        self._check_tasks(pool)
        return pool

    def _check_tasks(self, pool: Pool) -> None:
        """Refuse tasks that depend on who does them, or on each other."""
        for statement in nested(pool.body):
            if isinstance(statement, Pool):
                self._fail(
                    statement.line, "a task takes no tasks itself; put the pools one after another"
                )
            if isinstance(statement, Op) and (
                statement.name not in IN_TASKS or statement.arguments.get("collective")
            ):
                self._fail(
                    statement.line,
                    f"{statement.name}() meets other processes, and which process does a task is "
                    "only known as it runs; give the task's data as pool(..., bytes=), and collect "
                    "results after it, or send() them to who takes them by recv(ANY)",
                )
        for expr in (
            read for statement in nested((pool,)) for read in expressions(statement).values()
        ):
            if "rank" in names_in(expr):
                self._fail(pool.line, "a task reads rank; tasks must be the same whoever does them")
        for variable in sorted(handed_on(pool)):
            self._fail(
                pool.line,
                f"{variable!r} is handed from task to task, which are done on different processes; "
                "compute it from the task's own number",
            )

    def _operation(self, call: ast.Call, handle: str | None) -> Op:
        if not isinstance(call.func, ast.Name):
            bare = getattr(call.func, "attr", "").lower()
            hint = f"; write {bare}(...)" if bare in OPERATIONS else ""
            self._fail(call.lineno, f"{describe(call.func)} is no operation{hint}")
        name = call.func.id
        if name == "print":
            self._fail(call.lineno, "a program prints nothing; see what it does by parcast show -p")
        if name not in OPERATIONS:
            if name == "pool":
                self._fail(
                    call.lineno, "pool() deals out tasks; write 'for task in pool(range(tasks)):'"
                )
            if name in FUNCTIONS:
                self._fail(call.lineno, f"{name}() on its own does nothing; assign its value")
            hint = did_you_mean(name, OPERATIONS) or f" Known: {', '.join(OPERATIONS)}."
            self._fail(call.lineno, f"there is no operation {name!r}.{hint}")
        at = (call.lineno, call.col_offset)
        site = self._site(name, at)
        values = self._given(name, call)
        self._check_offloaded(name, values, call.lineno)
        arguments = {
            argument.name: self._argument(name, argument, values[argument.name])
            if argument.name in values
            else _default(argument, at)
            for argument in OPERATIONS[name]
        }
        return Op(name, arguments, handle, site, *at)

    def _site(self, name: str, at: tuple[int, int]) -> int:
        """Return the number of the next operation or pool, which stands here."""
        self.sites.append(Site(name, *at))
        return len(self.sites) - 1

    def _check_offloaded(self, name: str, values: Mapping[str, ast.expr], line: int) -> None:
        """Refuse what says how an accelerator computes where a processor does."""
        on = values.get("on")
        if isinstance(on, ast.Constant) and on.value == "gpu":
            self.offloads = True
            return
        for word in values.keys() & set(OFFLOADED) - {"on"}:
            self._fail(
                line, f"{word} of {name}() is of an accelerator; add on='gpu', or leave it out"
            )

    def _given(self, name: str, call: ast.Call) -> dict[str, ast.expr]:
        """Return the arguments of a call by name, or say which is missing or too many."""
        names = [argument.name for argument in OPERATIONS[name]]
        signature = f"{name}({', '.join(names)})"
        if len(call.args) > len(names) or any(isinstance(arg, ast.Starred) for arg in call.args):
            self._fail(call.lineno, f"{signature} takes at most {len(names)} plain arguments")
        values = dict(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg not in names:
                hint = did_you_mean(str(keyword.arg), names)
                self._fail(call.lineno, f"{signature} has no argument {keyword.arg!r}.{hint}")
            if keyword.arg in values:
                self._fail(call.lineno, f"{signature} is given {keyword.arg!r} twice")
            values[keyword.arg] = keyword.value
        for argument in OPERATIONS[name]:
            if argument.default is REQUIRED and argument.name not in values:
                self._fail(call.lineno, f"{signature} needs {argument.name!r}")
        return values

    def _argument(self, name: str, argument: operations.Argument, node: ast.expr) -> Argument:
        written = node.value if isinstance(node, ast.Constant) else None
        wanted = ""
        match argument.takes:
            case "name":
                wanted = "" if isinstance(written, str) and written else "a text, such as 'solve'"
            case "file":
                wanted = "" if written in {"own", "shared"} else "'own' or 'shared'"
            case "choice":
                wanted = "" if written in argument.choices else _any_of(argument.choices)
            case "flag":
                wanted = "" if isinstance(written, bool) else "True or False"
            case "request":
                if isinstance(node, ast.Name):
                    self._waited.append((node.id, node.lineno))
                    return node.id
                wanted = "the variable that isend() or irecv() was assigned to"
            case "color" if isinstance(node, ast.Constant) and node.value is None:
                return None
            case "rank" if name == "recv" and isinstance(node, ast.Name) and node.id == "ANY":
                return Name("ANY", node.lineno, node.col_offset)
            case _:
                return self._expression(node)
        if wanted:
            hint = "; a stream is a process of its own" if argument.name == "on" else ""
            text = f"{argument.name} of {name}() must be {wanted}, written out{hint}"
            self._fail(node.lineno, text)
        return written  # type: ignore[return-value]  # a text or a flag, checked above


def _any_of(words: tuple[str, ...]) -> str:
    *others, last = map(repr, words)
    return f"{', '.join(others)} or {last}"


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _outside_pools(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield assignments and loops of a body, what is in pools left out."""
    for statement in body:
        match statement:
            case If(then=then, otherwise=otherwise):
                yield from _outside_pools((*then, *otherwise))
            case For(body=inner):
                yield For(statement.variable, statement.start, statement.stop, statement.step, ())
                yield from _outside_pools(inner)
            case Assign():
                yield statement


def _default(argument: operations.Argument, at: tuple[int, int]) -> Argument:
    default = argument.default
    if isinstance(default, int) and not isinstance(default, bool):
        return Num(default, *at)
    return default  # type: ignore[return-value]  # a text, a flag or None
