"""The stylesheet of a report: system fonts, one accent color, light, dark and on paper."""

from __future__ import annotations

from bckm._core.html import Css
from bckm.study import views

_DARK_GROUND = "#12171c"
_LIGHT_WORDS = (
    "--ground:#fff;--soft:#f5f7f9;--ink:#1c2733;--muted:#566270;--line:#dfe4e9;--accent:#1f5fa8;"
    "--band:#dcebdc;--edge:#5d8a5d;--good:#2c6a35;--wrong:#b84a00;--halo:#fff;color-scheme:light;"
)
_DARK_WORDS = (
    f"--ground:{_DARK_GROUND};--soft:#1a2128;--ink:#e4e9ee;--muted:#9aa7b4;--line:#2d3740;--accent:#7cb4f2;"
    f"--band:#22382a;--edge:#6fae7d;--good:#7fc48d;--wrong:#ff9b52;--halo:{_DARK_GROUND};color-scheme:dark;"
)
# From far below the mean of all (blue) to far above (orange), with the ink that is legible on it
_HEAT_LIGHT = {
    "n4": ("#2166ac", "#fff"),
    "n3": ("#68a3d0", "#0c1824"),
    "n2": ("#a9cde5", "#12202d"),
    "n1": ("#dcebf5", "#1c2733"),
    "p1": ("#fdead5", "#1c2733"),
    "p2": ("#fcc98f", "#2a1a06"),
    "p3": ("#f19a3e", "#231300"),
    "p4": ("#b65300", "#fff"),
}
_HEAT_DARK = {
    "n4": ("#6fb4ee", "#06121d"),
    "n3": ("#3575b0", "#fff"),
    "n2": ("#275a89", "#fff"),
    "n1": ("#1c3a56", "#e4e9ee"),
    "p1": ("#4a3115", "#e4e9ee"),
    "p2": ("#7a4a10", "#fff"),
    "p3": ("#a9620d", "#fff"),
    "p4": ("#f5a94a", "#1c0f00"),
}

_RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:70rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
h1{font-size:2.1rem;line-height:1.2;margin:0 0 .6rem;letter-spacing:-.015em}
h2{font-size:1.35rem;line-height:1.3;margin:0 0 .8rem;letter-spacing:-.01em}
h3{font-size:1rem;margin:0 0 .35rem}
p{margin:0 0 .8rem;max-width:46rem}
.lead{font-size:1.2rem;line-height:1.45;margin-bottom:1.6rem}
.muted,small,figcaption{color:var(--muted)}
small,figcaption,.label{font-size:.875rem}
.label{margin-bottom:.4rem}
details+.label,figure+.label{margin-top:1rem}
section{padding:2.2rem 0 0;margin:0}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);
outline-offset:2px}
nav{margin:1.6rem 0 0;padding:.7rem 0;border-top:1px solid var(--line);
border-bottom:1px solid var(--line);font-size:.9rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:0;padding:0}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.6rem,1fr));gap:.75rem;
margin:0 0 1.4rem}
.cards div{background:var(--soft);border-radius:.6rem;padding:.75rem .9rem}
.cards dt{color:var(--muted);font-size:.82rem}
.cards dd{margin:.1rem 0 0;font-size:1.3rem;font-weight:600;line-height:1.25;
font-variant-numeric:tabular-nums}
.topics{columns:18rem;column-gap:1rem}
.topic{border:1px solid var(--line);border-radius:.6rem;padding:.9rem 1rem;margin:0 0 1rem;
break-inside:avoid}
.topic ul{margin:.3rem 0 0;padding-left:1.1rem}
.topic p{margin:.3rem 0}
.topic .muted{font-size:.875rem}
.soft{border-style:dashed}
.tag{display:inline-block;font-size:.75rem;font-weight:600;border:1px solid var(--line);
border-radius:1rem;padding:0 .5rem;margin-left:.4rem;color:var(--muted);vertical-align:middle}
.good{color:var(--good);font-weight:600}
.bad{color:var(--wrong);font-weight:600}
.alarm{border:2px solid var(--wrong);border-radius:.6rem;padding:.9rem 1rem;margin:0 0 1rem}
details{margin:.5rem 0 0}
summary{cursor:pointer;color:var(--accent);font-size:.9rem}
.members{columns:9rem;column-gap:1.2rem;margin:.5rem 0 .8rem;padding:0;list-style:none;
font-size:.9rem}
.members li{break-inside:avoid}
.scroll{overflow-x:auto;margin:0 0 .8rem;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.42rem .75rem;border-bottom:1px solid var(--line);text-align:left;
vertical-align:top;overflow-wrap:break-word}
thead th{font-size:.82rem;color:var(--muted);font-weight:600;border-bottom:2px solid var(--line);
vertical-align:bottom}
tbody th{font-weight:600}
.n{text-align:right;white-space:nowrap}
td small,th small{display:block;font-weight:400}
th.wide-text{font-weight:400}thead th.wide-text{font-weight:600}
.wide-text{min-width:13rem}
.names{min-width:12rem}
.heat{border-collapse:separate;border-spacing:2px}
.heat th,.heat td{border:0;padding:.3rem .5rem}
.heat td{text-align:right;white-space:nowrap;border-radius:.25rem}
.heat td small{color:inherit;font-size:.75rem}
.sheet th[scope=row],.sheet thead th:first-child{position:sticky;left:0;background:var(--ground);
z-index:1}
.sheet th[scope=row]{min-width:5.5rem}
.heat th[scope=row]{min-width:6.5rem;max-width:14rem}
.heat .all{background:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));
gap:1.6rem 2rem}
figure{margin:0;min-width:0}
figure h3{margin-bottom:.2rem}
figcaption{margin-top:.3rem;max-width:46rem}
svg{display:block;width:100%;height:auto;max-width:34rem}
svg.wide{max-width:58rem}
svg.swatch{display:inline-block;width:.95rem;height:.95rem;vertical-align:-.1rem;margin-right:.4rem}
text{font-family:inherit;fill:var(--muted);font-size:11.5px}
.axis{font-size:12px}
.value{fill:var(--ink);font-size:11px;stroke:var(--halo);stroke-width:2.5px;paint-order:stroke}
.within{fill:var(--ground);stroke:none}
.grid{stroke:var(--line);stroke-width:1}
.frame{fill:none;stroke:var(--line)}
.band{fill:var(--band)}
.bound{stroke:var(--edge);stroke-width:1.3;stroke-dasharray:5 3}
.columns .on{fill:var(--accent)}
.columns .off{fill:var(--wrong)}
.stem{stroke:var(--accent);stroke-width:1;opacity:.35}
.cloud{opacity:.72}
.marks path{fill:currentColor}
.dots path{fill:none;stroke:currentColor;stroke-width:5.2px;stroke-linecap:round}
.small path{stroke-width:3.6px}
.swatch.dots path{stroke-width:8px}
.marks.small path{stroke-width:0}
.link{fill:none;stroke:var(--ink);stroke-width:1;opacity:.5}
.link.many{stroke-width:.6;opacity:.25}
.apart{stroke-dasharray:2 3}
.lost{stroke:var(--wrong);stroke-width:2;opacity:1}
.link.lost.many{stroke-width:1;opacity:.6}
.apart.lost{stroke-dasharray:5 3}
.past,.gone{fill:none;stroke:currentColor;stroke-width:1.6}
.past{stroke-dasharray:2 4}
.faint{color:var(--muted);opacity:.4}
.moved.dots path{stroke-width:9px}
.ruler{stroke:var(--ink);stroke-width:1.4}
.hub{fill:var(--ground);stroke:currentColor;stroke-width:2}
.hubs{fill:var(--ink);font-size:11px;font-weight:600}
.crowd .hubs{font-size:7.5px}
.crowd .hub{stroke-width:1.2}
.leader{stroke:currentColor;stroke-width:1.2}
.course{stroke:var(--accent);fill:var(--accent)}
.course polyline{fill:none;stroke-width:1.6}
.course .half{fill:var(--ground);stroke-width:1.4}
.course .moves{fill:var(--edge);stroke:var(--edge)}
.shares{stroke:var(--accent);fill:var(--accent)}
.shares .half{fill:var(--ground);stroke-width:1.4}
.shares line{stroke-width:2.4;opacity:.6}
.shares .loss{stroke:var(--wrong)}
.proof{stroke:var(--wrong);stroke-width:1.8;fill:none}
.key{display:inline-block;width:1.6rem;border-top:2px solid;vertical-align:.25rem;
margin-right:.4rem}
.key.dash{border-top-style:dashed}
.key.dot{border-top-style:dotted}
.key.wrong{border-color:var(--wrong)}
.key.box{height:.8rem;border:1.5px dashed var(--edge);background:var(--band);vertical-align:-.1rem}
.key.ring,.key.ball,.key.gem{width:.6rem;height:.6rem;border:1.5px solid var(--accent);
border-radius:50%;vertical-align:0}
.key.ball{background:var(--accent)}
.key.gem{background:var(--edge);border-color:var(--edge)}
.legend span{margin-right:1.1rem;white-space:nowrap}
.facts{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.3rem 1.2rem;margin:0}
.facts dt{color:var(--muted)}
.facts dd{margin:0;min-width:0}
pre{background:var(--soft);border-radius:.6rem;padding:.8rem 1rem;overflow-x:auto;
white-space:pre-wrap;font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace}
bdi{unicode-bidi:isolate}
footer{padding-top:2.6rem;padding-bottom:3rem;color:var(--muted);font-size:.85rem}
@media (max-width:40rem){
header{padding-top:1.6rem}h1{font-size:1.6rem}.lead{font-size:1.08rem}
.cards{grid-template-columns:repeat(2,1fr)}.cards dd{font-size:1.1rem}
.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.5rem}
text{font-size:14px}.value{font-size:12px}.axis{font-size:14px}
svg.wide text{font-size:17px}svg.wide .hubs{font-size:11.5px}svg.wide .crowd .hubs{font-size:8px}
}
@media print{
nav{display:none}body{font-size:10pt}header{padding-top:0}section{padding-top:1.2rem}
main,header,footer{padding-left:0;padding-right:0}table{font-size:8.5pt}th,td{padding:.25rem .4rem}
.charts{grid-template-columns:1fr 1fr;gap:.8rem 1rem}.wide-text,.names{min-width:0}
.scroll{overflow:visible}.heat{font-size:7pt}.heat th,.heat td{padding:.1rem .2rem}
.cards{grid-template-columns:repeat(auto-fit,minmax(5.5rem,1fr))}.cards dd{font-size:1rem}
figure,.topic,.cards div,tr,.alarm{break-inside:avoid}h2,h3{break-after:avoid}
.heat,.band,.cards div{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.sheet th[scope=row],.sheet thead th:first-child{position:static}
}
"""


def stylesheet() -> Css:
    """The whole stylesheet."""
    light = "".join(f".c{i}{{color:{one}}}" for i, one in enumerate(views.COLORS))
    dark = "".join(f".c{i}{{color:{one}}}" for i, one in enumerate(views.DARK_COLORS))
    return Css(
        f":root{{{_LIGHT_WORDS}}}{_RULES}{light}{_heat(_HEAT_LIGHT)}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK_WORDS}}}{dark}"
        f"{_heat(_HEAT_DARK)}}}"
    )


def _heat(shades: dict[str, tuple[str, str]]) -> str:
    return "".join(
        f".heat .{name}{{background:{ground};color:{ink}}}"
        for name, (ground, ink) in shades.items()
    )


def heat_class(z: float) -> str | None:
    """The shade of a number of standard deviations; none near zero."""
    if z != z or abs(z) < 0.25:
        return None
    depth = 1 + sum(abs(z) >= step for step in (0.6, 1.1, 1.7))
    return f"{'p' if z > 0 else 'n'}{depth}"
