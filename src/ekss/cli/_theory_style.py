"""Style sheet of the page of guarantees."""

STYLE = """
:root {
  color-scheme: light dark;
  --back: #ffffff; --ink: #1c2126; --soft: #5b6570; --rule: #d9dee3;
  --card: #f5f7f9; --good: #1a7f45; --bad: #b3261e; --open: #8a6100;
  --line: #2457a6; --same: #2457a6; --other: #c4670a; --shade: 196 103 10;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #15181c; --ink: #e4e8ec; --soft: #9aa5b1; --rule: #333a42;
    --card: #1d2126; --good: #5ccf8c; --bad: #ff8a80; --open: #e2b75a;
    --line: #82aeff; --same: #82aeff; --other: #f0a354; --shade: 214 126 40;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 1080px; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 75ch; }
ul { padding-left: 1.2rem; max-width: 80ch; }
li { margin: .3rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; }
dt { color: var(--soft); }
dd { margin: 0; max-width: 80ch; overflow-wrap: anywhere; }
.facts { background: var(--card); border-radius: 8px; padding: .8rem 1rem; margin: 0; }
.words dt { color: var(--ink); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .7rem .4rem 0; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody tr { border-top: 1px solid var(--rule); }
.numbers th, .numbers td { text-align: right; font-variant-numeric: tabular-nums; }
.numbers td, .nowrap { white-space: nowrap; }
.shaded { width: auto; font-variant-numeric: tabular-nums; font-size: .85rem; }
.shaded td, .shaded th { text-align: center; padding: .3rem .45rem; min-width: 2.8rem; }
.shaded tr { border: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.badge {
  border: 1px solid currentColor; border-radius: 999px; padding: .05rem .55rem;
  font-size: .82rem; font-weight: 600; white-space: nowrap;
}
.finding { border-top: 1px solid var(--rule); padding-top: .2rem; margin-top: 1rem; }
.figures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr));
  gap: 1.2rem;
}
figure { margin: 0; }
figcaption { font-size: .88rem; color: var(--soft); }
svg { width: 100%; height: auto; display: block; }
svg .tick { font-size: 12px; fill: var(--soft); }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; }
svg .grid { stroke: var(--rule); }
svg .curve { fill: none; stroke: var(--line); stroke-width: 2; }
svg .limit { fill: none; stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
svg .limit-text { font-size: 12px; fill: var(--bad); }
svg .band { fill: var(--line); opacity: .15; }
svg .same, svg .other { stroke-width: 3; stroke-linecap: round; opacity: .45; }
svg .same { stroke: var(--same); } svg .other { stroke: var(--other); }
.key.same { color: var(--same); } .key.other { color: var(--other); }
@media print {
  :root {
    --back: #ffffff; --ink: #000000; --soft: #444444; --rule: #cccccc;
    --card: #f5f5f5; --good: #1a7f45; --bad: #b3261e; --open: #8a6100;
    --line: #2457a6; --same: #2457a6; --other: #c4670a; --shade: 196 103 10;
  }
  body { font-size: 11px; }
  main { max-width: none; padding: 0; }
  tr, figure { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
