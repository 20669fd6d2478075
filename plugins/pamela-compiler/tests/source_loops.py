"""T^l of a data-parallel source on das1, by running its loops: no word of the generator's.

The rules stand here a second time, on numbers: the owner computes; what a parallel loop reads of
others is moved before it, one place of the text after the other; sums over parallel iterations
are put together after it.
"""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction

TC, TL, TG = 3, 2, 10


class Part:
    """The path, T^l and each processor's demand of a process, equations (2) to (5)."""

    def __init__(self, path=0, bound=0, demand=None):
        self.path, self.bound, self.demand = path, bound, demand or {}


def use(p, time):
    return Part(time, time, {p: time})


def added(parts):
    total = {}
    for one in parts:
        for p, time in one.demand.items():
            total[p] = total.get(p, 0) + time
    return total


def seq(parts):
    return Part(sum(one.path for one in parts), sum(one.bound for one in parts), added(parts))


def par(parts):
    demand = added(parts)
    bound = max([0, *(one.bound for one in parts), *demand.values()])
    return Part(max([0, *(one.path for one in parts)]), bound, demand)


def scaled(part, chance):
    demand = {p: time * chance for p, time in part.demand.items()}
    return Part(part.path * chance, part.bound * chance, demand)


class Run:
    def __init__(self, text, p, **given):
        self.p, self.functions = p, {"log2": math.log2, "ceil": math.ceil}
        self.said = {
            number: dict(re.findall(r"(\w+) = ([^,]+)", line.partition("# pamela:")[2]))
            for number, line in enumerate(text.splitlines(), 1)
        }
        self.arrays, self.env = {}, {"P": p, **given}
        self.site, self.sums = None, None
        self.body = ast.parse(text).body[-1].body

    def whole(self):
        return self.run(self.body, {}, None)

    def value(self, node, env):
        text = ast.unparse(node) if isinstance(node, ast.AST) else node
        return eval(text, {**self.functions, **self.env, **env})

    def run(self, body, env, inner, inside=False):
        return seq([self.one(node, env, inner, inside) for node in body])

    def one(self, node, env, inner, inside):
        match node:
            case ast.Assert():
                return Part()
            case ast.Assign(value=ast.Call(func=ast.Name(id="array"))):
                return self.declare(node)
            case ast.For():
                return self.loop(node, env, inside)
            case ast.If():
                return self.choice(node, env, inner, inside)
            case ast.Expr():
                return self.call(node, env)
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.env[name] = self.value(node.value, env)
                return Part()
        return self.store(node, env, inner, inside)

    def declare(self, node):
        shape, kinds = (ast.unparse(one).strip("()").split(", ") for one in node.value.args)
        shape = [self.value(one, {}) for one in shape]
        kinds = ["whole"] * len(shape) if kinds == ["replicated"] else kinds
        self.arrays[node.targets[0].id] = shape, kinds
        return Part()

    def loop(self, node, env, inside):
        name, parallel = node.target.id, node.iter.func.id == "forall"
        numbers = range(*(self.value(one, env) for one in node.iter.args))

        def bodies():
            return [
                self.run(node.body, {**env, name: i}, node, inside or parallel) for i in numbers
            ]

        if not parallel or inside:
            return (par if parallel else seq)(bodies())
        found, self.sums = [], {}
        sites = [one for stmt in node.body for one in ast.walk(stmt)]
        sites = [one for one in sites if isinstance(one, ast.Subscript)]
        for self.site in dict.fromkeys((one.lineno, ast.unparse(one)) for one in sites):
            found.append(par(bodies()))
        self.site, self.sums = None, {}
        found.append(par(bodies()))
        sums, self.sums = list(self.sums.values()), None
        return seq([*found, *sums])

    def owner(self, node, env):
        shape, kinds = self.arrays[node.value.id]
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for extent, kind, index in zip(shape, kinds, indices, strict=True):
            if kind == "block":
                return self.value(index, env) // (extent // self.p)
            if kind == "cyclic":
                return self.value(index, env) % self.p
        return None

    def reads(self, node):
        inner = {id(deep) for one in ast.walk(node) if isinstance(one, ast.Subscript)
                 for deep in ast.walk(one.slice)}  # fmt: skip
        found = {ast.unparse(one): one for one in ast.walk(node)
                 if isinstance(one, ast.Subscript) and id(one) not in inner}  # fmt: skip
        return list(found.values())

    def operations(self, node):
        inner = {id(deep) for one in ast.walk(node) if isinstance(one, ast.Subscript)
                 for deep in ast.walk(one.slice)}  # fmt: skip
        return sum(
            isinstance(one, ast.BinOp | ast.UnaryOp | ast.Compare) and id(one) not in inner
            for one in ast.walk(node)
        )

    def moves(self, reads, to, env, inside):
        parts = []
        for one in reads:
            owner = self.owner(one, env)
            here = not inside or self.site == (one.lineno, ast.unparse(one))
            if owner is not None and owner != to and here:
                parts.append(use(owner, TG))
        return seq(parts)

    def bcast(self, p):
        return seq([use(p, TG)] * self.p)

    def reduce(self, p):
        return seq([seq([use(q, TG), use(p, TC)]) for q in range(self.p)])

    def call(self, node, env):
        if self.site:
            return Part()
        count = math.ceil(self.value(self.said[node.lineno]["operations"], env))
        (array,) = [one for one in ast.walk(node) if isinstance(one, ast.Name)
                    and one.id in self.arrays]  # fmt: skip
        spread = [one for one in ast.walk(node) if isinstance(one, ast.Subscript)]
        if self.arrays[array.id][1].count("whole") == len(self.arrays[array.id][1]):
            return par([use(q, count * TC) for q in range(self.p)])
        return use(self.owner(spread[0], env), count * TC)

    def choice(self, node, env, inner, inside):
        said = self.said[node.lineno]
        arms = (node.body, node.orelse)
        if "probability" not in said and "taken" not in said:
            return self.run(arms[not self.value(node.test, env)], env, inner, inside)
        chance = self.value(said.get("probability", "0"), env)
        chance = Fraction(chance).limit_denominator(1000)
        if "taken" in said:
            chance = Fraction(self.value(said["taken"], env), self.value(said["reached"], env))
        if self.site:
            return Part()
        reads = self.reads(node.test)
        home = self.owner(reads[0], env)
        test = use(home, TC * self.operations(node.test))
        if not inside:
            test = seq([test, self.bcast(home)])
        then, otherwise = (self.run(one, env, inner, inside) for one in arms)
        return seq([test, par([]) if not arms else self.mixed(then, otherwise, chance)])

    def mixed(self, then, otherwise, chance):
        return seq([scaled(then, chance), scaled(otherwise, 1 - chance)])

    def stride(self, target, env, inner):
        said = self.said[target.lineno].get("stride")
        if said is not None:
            return self.value(said, env)
        if inner is None:
            return 1
        shape, kinds = self.arrays[target.value.id]
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        name = inner.target.id
        step = self.value(inner.iter.args[2], env) if len(inner.iter.args) > 2 else 1
        total, size = 0, 1
        for extent, kind, index in reversed(list(zip(shape, kinds, indices, strict=True))):
            far = self.value(index, {**env, name: 1000 + step}) - self.value(
                index, {**env, name: 1000}
            )
            if kind == "cyclic":
                far = far * self.p // math.gcd(far, self.p)
            total, size = total + far * size, size * extent
        return max(1, abs(total))

    def store(self, node, env, inner, inside):
        adds = isinstance(node, ast.AugAssign)
        target = node.target if adds else node.targets[0]
        said, reads = self.said[node.lineno], self.reads(node.value)
        work = (self.operations(node.value) + adds) * TC
        if "operations" in said:
            work = math.ceil(self.value(said["operations"], env)) * TC
        if "owner" in said:
            owner = self.value(said["owner"], env)
        else:
            owner = self.owner(target, env) if isinstance(target, ast.Subscript) else None
        owners = [one for one in (self.owner(each, env) for each in reads) if one is not None]
        if adds and isinstance(target, ast.Name) and inside and owners:
            return self.summed(node, work, reads, owners[0], env)
        here = not self.site
        if owner is None and not owners:
            each = work
            if isinstance(target, ast.Subscript):
                each += TL * min(4, self.stride(target, env, inner))
            return par([use(q, each) for q in range(self.p)]) if here else Part()
        if owner is None:
            moves = self.moves(reads[1:], owners[0], env, inside)
            return seq([moves, seq([use(owners[0], work), self.bcast(owners[0])])
                        if here else Part()])  # fmt: skip
        if not work and len(reads) == 1 and owners:
            if not here:
                return Part()
            if owners[0] != owner:
                return use(owners[0], TG)
            return use(owner, TL * min(4, self.stride(target, env, inner)))
        moves = self.moves(reads, owner, env, inside)
        if not here:
            return moves
        moves = moves if not inside else Part()
        return seq([moves, use(owner, work + TL * min(4, self.stride(target, env, inner)))])

    def summed(self, node, work, reads, home, env):
        moves = self.moves(reads, home, env, inside=True)
        if self.site:
            return moves
        self.sums[node.lineno] = seq([self.reduce(0), self.bcast(0)])
        return use(home, work)
