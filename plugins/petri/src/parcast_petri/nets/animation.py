"""A run of a net step by step: as lines, and as a page that a browser plays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from parcast.files import graph_svg
from parcast.quantities import generator
from parcast_petri.nets.arrays import Arrays
from parcast_petri.nets.drawing import picture
from parcast_petri.nets.token_game import Play

_SCRIPT = """
const net = JSON.parse(document.getElementById("steps").textContent);
const tokens = {}; let step = 0, timer = null;
const places = net.places.map((name, n) => [name, document.getElementById("p" + n)]);
const boxes = net.transitions.map((name, n) => [name, document.getElementById("t" + n)]);
function show() {
  for (const [name, place] of places) {
    place.classList.toggle("marked", tokens[name] > 0);
    [...place.querySelectorAll("text")].at(-1).textContent = tokens[name] || "";
  }
  for (const [name, box] of boxes) {
    const firing = step > 0 && net.steps[step - 1][1] === name;
    box.classList.toggle("firing", firing);
    if (firing) box.scrollIntoView({block: "nearest", inline: "nearest"});
  }
  const [time, name] = step ? net.steps[step - 1] : [0, ""], of = net.steps.length;
  document.getElementById("now").textContent = step
    ? `${step}/${of}: ${name} at ${+time.toPrecision(9)} s` : `${of} steps`;
}
function go(to) {
  step = Math.max(0, Math.min(net.steps.length, to));
  for (const p in net.initial) tokens[p] = net.initial[p];
  for (const [, name] of net.steps.slice(0, step))
    for (const p in net.changes[name]) tokens[p] = (tokens[p] || 0) + net.changes[name][p];
  show();
}
function play() {
  if (timer) { clearInterval(timer); timer = null; }
  else timer = setInterval(() => go(step + 1), 400);
}
document.addEventListener("keydown", e => {
  const by = {ArrowRight: 1, ArrowLeft: -1}[e.key];
  if (by) { e.preventDefault(); go(step + by); }
});
go(0);
"""
_STYLE = """:root { color-scheme: light dark; }
body { margin: 0; width: max-content; min-width: 100vw; font: 16px system-ui, sans-serif;
  background: #fff; color: #1a1a1a; }
p { position: sticky; top: 0; left: 0; margin: 0; padding: 8px; width: 100vw;
  box-sizing: border-box; background: inherit; }
svg { display: block; }
button { font: inherit; padding: 4px 10px; }
g.node { scroll-margin: 70px 120px; }
.node ellipse { fill: #fff; }
.node.marked ellipse { fill: #ffd24d; }
.node.firing polygon { stroke: #e8590c; stroke-width: 4px; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e6e6e6; }
  .node ellipse { fill: #16181c; } .node.marked ellipse { fill: #8a6500; } }"""


def lines(net_arrays: Arrays, steps: int) -> Iterator[str]:
    """Yield a line for each firing: number, time, transition, and the tokens that moved."""
    changes = _changes(net_arrays)
    for number, (time, name) in enumerate(_firings(net_arrays, steps), 1):
        moved = ", ".join(f"{place} {by:+d}" for place, by in changes[name].items())
        yield f"{number:6d}  {float(time):14.9g} s  {name}  ({moved})"


def page(net_arrays: Arrays, steps: int) -> str:
    """Return an HTML page that plays the first steps; arrow keys go on and back."""
    net = net_arrays.net
    firings = [(float(time), name) for time, name in _firings(net_arrays, steps)]
    initial = {place: net.initial.get(place, 0) for place in net.places}
    data = {
        "initial": initial,
        "changes": _changes(net_arrays),
        "steps": firings,
        "places": net.places,
        "transitions": [transition.name for transition in net.transitions],
    }
    svg = graph_svg(picture(net), "leave out -o")
    embedded = json.dumps(data).replace("<", "\\u003c")
    return (
        "<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>A net by steps</title>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<style>{_STYLE}</style>\n"
        "<p><button onclick='go(0)'>start</button> <button onclick='go(step-1)'>back</button> "
        "<button onclick='go(step+1)'>on</button> <button onclick='play()'>play</button> "
        "<span id='now'></span></p>\n"
        f"{svg}<script type='application/json' id='steps'>{embedded}</script>\n"
        f"<script>{_SCRIPT}</script></html>\n"
    )


def _firings(net_arrays: Arrays, steps: int) -> Iterator[tuple[Any, str]]:
    return islice(Play(net_arrays, generator(0, 0)).events(), steps)


def _changes(net_arrays: Arrays) -> dict[str, dict[str, int]]:
    return {transition.name: transition.change() for transition in net_arrays.net.transitions}
