"use strict";
// The report of a CStree. All names come from the data and go into the page as text nodes, never as markup.
(() => {
  const report = JSON.parse(document.getElementById("data").textContent);
  const ONE_ORDER = "given the one order that was searched for: more certain than the data are, and nothing is said of directions";
  const edgeError = (report.learning && report.learning.edge_error) || 0;
  const { variables, edges, order, relations, places, sizes } = report;
  const byId = (id) => document.getElementById(id);
  const name = (v) => variables[v].name;
  const state = (v, x) => variables[v].states[x];

  // ---------------------------------------------------------------- elements and words
  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  const number = (value, digits) =>
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const count = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
  const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
  const listed = (words, last = "and") =>
    words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
  // A bin is said as the inequality that it is.
  const CUT = "[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?";
  const BIN = new RegExp(`^(?:(<|>=)(${CUT})|\\[(${CUT}), (${CUT})\\))$`);
  function condition(v, x, verb) {
    const bin = BIN.exec(state(v, x));
    if (!bin) return `${name(v)} ${verb} ${state(v, x)}`;
    return bin[1] ? `${name(v)} ${bin[1]} ${bin[2]}` : `${bin[3]} <= ${name(v)} < ${bin[4]}`;
  }
  const inWords = (context) => listed(context.map(([v, x]) => condition(v, x, "is")));
  const inBrief = (context) => context.map(([v, x]) => condition(v, x, "=")).join(", ");
  const arrow = (e) => `${name(edges[e].parent)} → ${name(edges[e].child)}`;

  // ---------------------------------------------------------------- the chosen context
  const chosen = new Map();

  // Whether a stage, or its part without the variable `except`, agrees with the chosen context.
  const agrees = (context, except) =>
    context.every(([v, x]) => v === except || !chosen.has(v) || chosen.get(v) === x);

  // The edge is left if some stage of the child holds the parent and agrees with the rest of the context.
  const vanishes = ({ parent, child }) =>
    !variables[child].stages.some(
      ({ context }) => context.some(([v]) => v === parent) && agrees(context, parent));

  // ---------------------------------------------------------------- the tables of a variable
  // Tables show the first rows only, until the others are asked for.
  const MOST_STAGES = 16;
  const MOST_CONTEXTS = 8;
  const MOST_RELATIONS = 20;

  // The stages to show first: those with the most rows or, without data, the shortest contexts; in the order of the tree.
  function largestStages(stages) {
    const size = ({ context, n }) => (n === undefined ? -context.length : n.reduce((a, b) => a + b, 0));
    const ranked = stages.map((stage, s) => [size(stage), s]).sort((a, b) => b[0] - a[0]).slice(0, MOST_STAGES);
    return ranked.map(([, s]) => s).sort((a, b) => a - b).map((s) => stages[s]);
  }

  const rowsTitle = report.gaps && report.gaps.expected ? "Expected rows" : "Rows";

  function stageTable(v, caption, everything) {
    const { states, stages } = variables[v];
    const rest = everything ? 0 : Math.max(stages.length - MOST_STAGES, 0);
    const counted = stages.length > 0 && stages[0].n !== undefined;
    const known = stages[0].p !== undefined;
    const head = el("tr", null,
      el("th", { scope: "col" }, "In the context"),
      states.map((label) => el("th", { scope: "col", class: "number" }, label)),
      counted ? el("th", { scope: "col", class: "number" }, rowsTitle) : null);
    const rows = (rest ? largestStages(stages) : stages).map(({ context, p, n }) => {
      const cells = states.map((_, x) => {
        const cell = el("td", { class: "number", "data-title": states[x] }, known ? number(p[x], 3) : "–");
        if (known) {
          cell.classList.add("share");
          cell.style.setProperty("--share", `${(100 * p[x]).toFixed(2)}%`);
        }
        if (counted) cell.append(el("span", { class: "count" }, count(n[x])));
        return cell;
      });
      const total = counted ? el("td", { class: "number", "data-title": rowsTitle }, count(n.reduce((a, b) => a + b, 0))) : null;
      return el("tr", { class: agrees(context) ? null : "out" },
        el("th", { scope: "row" }, context.length ? inBrief(context) : "always"), cells, total);
    });
    const table = el("div", { class: "scroll" }, el("table", { class: "stages" },
      el("caption", { class: caption ? null : "hidden" }, caption || `Probabilities of ${name(v)}`),
      el("thead", null, head), el("tbody", null, rows)),
    rest ? el("button", { type: "button", class: "more", onclick: () => table.replaceWith(stageTable(v, caption, true)) },
      `… and ${count(rest)} more ${rest === 1 ? "stage" : "stages"}${counted ? ", with fewer rows" : ""}`) : null);
    return table;
  }

  function dependsOn(v) {
    const { parents, stages } = variables[v];
    if (!parents.length) return "It depends on no other variable.";
    return `It depends on ${listed(parents.map(name))}, and has ${plural(stages.length, "stage")}.`;
  }

  // ---------------------------------------------------------------- details beside the graph
  const details = byId("details");
  let pinned = null;
  let shown = null;

  function nodeDetails(v) {
    const children = edges.filter((edge) => edge.parent === v).map((edge) => name(edge.child));
    return [
      el("h3", null, name(v)),
      el("p", null, dependsOn(v), children.length ? ` ${listed(children)} ${children.length > 1 ? "depend" : "depends"} on it.` : ""),
      stageTable(v),
      el("div", { class: "fix" }, el("span", null, chosen.has(v) ? "Held at" : "Hold it at"),
        variables[v].states.map((label, x) => el("button", {
          type: "button", "aria-pressed": String(chosen.get(v) === x),
          onclick: () => { if (chosen.get(v) === x) choose(v, null); else choose(v, x); },
        }, label))),
      scope.kind !== "all" && scope.centre !== v ? el("div", { class: "fix" },
        el("button", { type: "button", onclick: () => { setScope(scope.kind, v); pin({ kind: "node", index: v }); } }, `Show what is around ${name(v)}`)) : null,
    ].filter(Boolean);
  }

  function edgeDetails(e) {
    const edge = edges[e];
    const others = variables[edge.child].parents.filter((v) => v !== edge.parent);
    const parts = [el("h3", null, arrow(e))];
    if (edge.label.length) {
      const first = edge.label.slice(0, MOST_CONTEXTS);
      const rest = edge.label.slice(MOST_CONTEXTS);
      const items = (contexts) => el("ul", { class: "contexts" }, contexts.map((context) => el("li", null, inWords(context))));
      parts.push(el("p", null, `${name(edge.child)} depends on ${name(edge.parent)}. The model leaves this out once`), items(first));
      if (rest.length) parts.push(el("details", null, el("summary", null, `and in ${count(rest.length)} more ${rest.length === 1 ? "context" : "contexts"}`), items(rest)));
    } else {
      parts.push(el("p", null, `${name(edge.child)} depends on ${name(edge.parent)}` +
        (others.length ? `, whatever the states of ${listed(others.map(name))}.` : ".")));
    }
    if (edge.probability !== undefined) {
      parts.push(el("p", null, `The two are joined with probability ${share(edge.probability)}: ${share(edge.forward)} in this direction, ${share(edge.backward)} in the other.`
        + (edge.directed ? "" : " The data do not tell the direction.")));
    }
    if (chosen.size) {
      parts.push(el("p", { class: "verdict" }, vanishes(edge)
        ? "In the chosen context the model leaves it out." : "In the chosen context it is there."));
    }
    parts.push(stageTable(edge.child, `Probabilities of ${name(edge.child)}`));
    return parts;
  }

  const share = (value) => (value > 0.995 && value < 1 ? "> 0.99" : value < 0.005 && value > 0 ? "< 0.01" : number(value, 2));

  // What the panel shows at first: what was found, strongest first.
  function mainFindings() {
    const hint = "Point at a variable to see its probabilities, or at an arrow to see in which contexts the model leaves it out. Click to keep them here.";
    const says = (r) => (r.verdict === "ignored" ? `depends on ${name(r.against)}` : finding(r));
    const sentence = (r) => `${name(r.target)} ${says(r)}${r.context.length ? ` once ${inWords(r.context)}` : ""}${whatever(r)}`;
    const ranked = (verdict, sign) => relations.filter((r) => r.verdict === verdict)
      .sort((a, b) => sign * (b.factor - a.factor)).slice(0, verdict === "ignored" ? 3 : 6);
    const items = (found) => el("ul", { class: "contexts" }, found.map((r) => el("li", null, el("button", {
      type: "button", class: "link", title: "Show the graph in this context", onclick: () => chooseAll(r.context),
    }, sentence(r)))));
    const parts = [el("h3", null, "Main findings")];
    const roughly = edgeError > 0.1 ? ` The chains disagree (standard errors up to ${edgeError.toPrecision(2)}): take these probabilities and directions as rough.` : "";
    const sure = edges.filter((edge) => edge.probability >= 0.9).length;
    const told = edges.filter((edge) => edge.probability >= 0.9 && edge.directed).length;
    if (edges.some((edge) => edge.probability !== undefined)) {
      const directions = report.one_order ? `, ${ONE_ORDER}.` : `; the direction of ${count(told)} of them is identified.`;
      parts.push(el("p", null, `${count(sure)} of the ${plural(edges.length, "dependence")} have a probability of 0.9 or more${directions}${roughly}`));
    }
    const degrees = variables.map((_, v) => edges.filter((edge) => edge.parent === v || edge.child === v).length);
    const hubs = order.filter((v) => degrees[v] > 2).sort((a, b) => degrees[b] - degrees[a]).slice(0, 5);
    if (variables.length > 8 && hubs.length) {
      parts.push(el("p", null, "Most connected: ", ...hubs.flatMap((v, i) => [el("span", { class: "together" }, el("button", {
        type: "button", class: "link", onclick: () => { if (scope.kind !== "all") setScope(scope.kind, v); pin({ kind: "node", index: v }); },
      }, `${name(v)} (${degrees[v]})`), i + 1 < hubs.length ? "," : ""), " "])));
    }
    const supported = withEvidence ? ranked("supported", 1) : relations.slice(0, 6);
    if (supported.length) parts.push(el("p", null, withEvidence ? "Best supported by the data:" : "In the model:"), items(supported));
    const ignored = ranked("ignored", -1);
    if (ignored.length) parts.push(el("p", null, "The data support these, and the model ignores them:"), items(ignored));
    if (report.gaps) parts.push(el("p", { class: "note" }, report.gaps.note));
    parts.push(el("p", { class: "hint" }, hint));
    return parts;
  }

  function show(thing) {
    shown = thing;
    const content = thing === null ? mainFindings()
      : thing.kind === "node" ? nodeDetails(thing.index) : edgeDetails(thing.index);
    details.replaceChildren(...content);
    highlight(thing);
  }

  function pin(thing) {
    pinned = thing;
    for (const node of graphics.nodes) node.setAttribute("aria-pressed", "false");
    for (const edge of graphics.edges) edge.group.setAttribute("aria-pressed", "false");
    if (thing !== null) elementOf(thing).setAttribute("aria-pressed", "true");
    show(thing);
  }

  // ---------------------------------------------------------------- the graph
  const canvas = byId("ldag");
  const graphics = { nodes: [], edges: [] };
  const at = variables.map(() => ({ x: 0, y: 0 }));
  const moved = new Set();
  const content = svg("g");
  const labelledEdges = edges.filter((edge) => edge.label.length).length;
  let focused = { kind: "node", index: order[0] };
  const scope = { kind: "all", centre: order[0], shown: new Set(order), arrows: new Set(edges), curves: new Map(), laid: false, possible: edges.length };

  const elementOf = (thing) =>
    thing.kind === "node" ? graphics.nodes[thing.index] : graphics.edges[thing.index].group;

  function thingOf(target) {
    const group = target.closest ? target.closest("[data-node], [data-edge]") : null;
    if (!group) return null;
    return group.dataset.node !== undefined
      ? { kind: "node", index: Number(group.dataset.node) } : { kind: "edge", index: Number(group.dataset.edge) };
  }

  function build() {
    canvas.setAttribute("aria-label",
      `Graph of ${plural(variables.length, "variable")} and ${plural(edges.length, "dependence")}`);
    const edgeLayer = svg("g", { class: "edges" });
    const labelLayer = svg("g", { class: "labels" });
    const nodeLayer = svg("g", { class: "nodes" });
    edges.forEach((edge, e) => {
      const parts = { hit: svg("path", { class: "hit" }), line: svg("path", { class: "line" }), head: svg("path", { class: "head", d: "M1 0L-9 4.5V-4.5z" }) };
      const says = edge.label.length
        ? `left out of the model ${edge.label.length > MOST_CONTEXTS ? `in ${count(edge.label.length)} contexts` : `once ${edge.label.map(inWords).join(", or once ")}`}`
        : "holds in every context";
      const group = svg("g", {
        class: ["edge", edge.label.length ? "labelled" : "", edge.directed === false ? "open" : "", edge.compelled ? "" : "reversible"].join(" "), "data-edge": e, tabindex: "-1", role: "button",
        "aria-pressed": "false", "aria-label": `Dependence of ${name(edge.child)} on ${name(edge.parent)}: ${says}`,
      }, parts.hit, parts.line, parts.head);
      if (edge.label.length) {
        parts.dot = svg("circle", { class: "dot", r: 4 });
        parts.text = svg("text", { class: "edge-label", dy: "0.34em" }, edge.text);
        // Above all edges, so that none strikes it through.
        parts.label = svg("g", { class: "edge-mark labelled", "data-edge": e, "aria-hidden": "true" }, parts.dot, parts.text);
        labelLayer.append(parts.label);
      }
      graphics.edges.push({ group, ...parts });
      edgeLayer.append(group);
    });
    variables.forEach((variable, v) => {
      const [w, h] = sizes[v];
      const group = svg("g", {
        class: "node", "data-node": v, tabindex: "-1", role: "button", "aria-pressed": "false",
      },
      svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: 8 }),
      svg("text", { class: "name", dy: "0.34em" }, variable.name),
      svg("text", { class: "value", x: w / 2 + 5, dy: "0.34em" }));
      graphics.nodes[v] = group;
    });
    // In the order of the variables, which is that of reading.
    for (const v of order) nodeLayer.append(graphics.nodes[v]);
    content.append(edgeLayer, labelLayer, nodeLayer);
    canvas.append(content);
    variables.forEach((variable, v) => shorten(graphics.nodes[v].querySelector(".name"), variable.name, sizes[v][0] - 16));
    at.forEach((_, v) => place(v));
    edges.forEach((_, e) => route(e));
  }

  // Cut a name that is wider than its box.
  function shorten(text, full, width) {
    if (text.getComputedTextLength() <= width) return;
    const signs = Array.from(full);
    let low = 1;
    let high = signs.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      text.textContent = `${signs.slice(0, middle).join("")}…`;
      if (text.getComputedTextLength() <= width) low = middle; else high = middle - 1;
    }
    text.textContent = `${signs.slice(0, low).join("")}…`;
  }

  // The edge and its label are two elements, which look alike.
  function mark(e, word, wanted) {
    const { group, label } = graphics.edges[e];
    for (const element of label ? [group, label] : [group]) element.classList.toggle(word, wanted);
  }

  const place = (v) => graphics.nodes[v].setAttribute("transform", `translate(${at[v].x} ${at[v].y})`);

  function routeAround(v) {
    edges.forEach((edge, e) => { if (edge.parent === v || edge.child === v) route(e); });
  }

  // The curve that was laid out, or a plain one if an end has been dragged: a start, and three points for each piece.
  function curveOf(edge) {
    const laid = scope.laid ? edge.curve : scope.curves.get(edge);
    if (laid && !moved.has(edge.parent) && !moved.has(edge.child)) return laid;
    const [from, to] = [at[edge.parent], at[edge.child]];
    const down = to.y >= from.y ? 1 : -1;
    const start = from.y + (down * sizes[edge.parent][1]) / 2;
    const end = to.y - (down * sizes[edge.child][1]) / 2;
    return [[from.x, start], [from.x, (start + end) / 2], [to.x, (start + end) / 2], [to.x, end]];
  }

  function route(e) {
    const edge = edges[e];
    const parts = graphics.edges[e];
    const curve = curveOf(edge);
    const [last, end] = curve.slice(-2);
    let path = `M${curve[0].join(" ")}`;
    for (let i = 1; i < curve.length; i += 3) path += `C${curve.slice(i, i + 3).map((point) => point.join(" ")).join(" ")}`;
    const angle = (Math.atan2(end[1] - last[1], end[0] - last[0]) * 180) / Math.PI;
    parts.hit.setAttribute("d", path);
    parts.line.setAttribute("d", path);
    parts.line.style.setProperty("--strength", String(edge.strength));
    parts.head.setAttribute("transform", `translate(${end[0]} ${end[1]}) rotate(${angle || 0})`);
    if (parts.dot) {
      const [x, y] = edge.middle && curve === edge.curve ? edge.middle : middleOf(curve);
      for (const [key, value] of [["cx", x], ["cy", y]]) parts.dot.setAttribute(key, value);
      for (const [key, value] of [["x", x], ["y", y]]) parts.text.setAttribute(key, value);
    }
  }

  // The middle of the middle piece of a curve.
  function middleOf(curve) {
    const first = 3 * Math.floor((curve.length - 1) / 6);
    const [a, b, c, d] = curve.slice(first, first + 4);
    return [0, 1].map((axis) => (a[axis] + 3 * b[axis] + 3 * c[axis] + d[axis]) / 8);
  }

  function highlight(thing) {
    const near = { nodes: new Set(), edges: new Set() };
    if (thing !== null && thing.kind === "node") {
      near.nodes.add(thing.index);
      edges.forEach((edge, e) => {
        if (edge.parent === thing.index || edge.child === thing.index) {
          near.edges.add(e);
          near.nodes.add(edge.parent).add(edge.child);
        }
      });
    } else if (thing !== null) {
      near.edges.add(thing.index);
      near.nodes.add(edges[thing.index].parent).add(edges[thing.index].child);
      for (const [v] of edges[thing.index].label.flat()) near.nodes.add(v);
    }
    canvas.classList.toggle("selecting", thing !== null);
    graphics.nodes.forEach((node, v) => node.classList.toggle("near", near.nodes.has(v)));
    edges.forEach((_, e) => mark(e, "near", near.edges.has(e)));
    graphics.nodes.forEach((node, v) => node.classList.toggle("current", thing !== null && thing.kind === "node" && thing.index === v));
    edges.forEach((_, e) => mark(e, "current", thing !== null && thing.kind === "edge" && thing.index === e));
  }

  // ---------------------------------------------------------------- which part of the graph, and which edges
  // Of many variables the neighbourhood of one is shown first: no picture of all of them can be read.
  const MOST_AT_ONCE = 30;
  const least = { value: 0, everything: false };
  const isShown = (edge) => scope.arrows.has(edge);
  const isLikely = (edge) => edge.probability === undefined || edge.probability >= least.value;
  // More arrows than this are a tangle: the strongest are drawn.
  const mostArrows = () => (canvas.getBoundingClientRect().width < 600 ? 14 : scope.kind === "1" ? 36 : scope.kind === "all" ? Math.max(60, variables.length) : 60);

  // The arrows that are drawn between some variables: all, or the strongest, those of the centre first.
  function arrowsAmong(found) {
    const there = edges.filter((edge) => isLikely(edge) && found.has(edge.parent) && found.has(edge.child));
    scope.possible = there.length;
    if (least.everything || there.length <= mostArrows()) return new Set(there);
    const own = (edge) => (scope.kind !== "all" && (edge.parent === scope.centre || edge.child === scope.centre) ? 1 : 0);
    return new Set(there.sort((a, b) => own(b) - own(a) || b.strength - a.strength).slice(0, mostArrows()));
  }

  function around(kind, centre) {
    const found = new Set([centre]);
    const likely = edges.filter(isLikely);
    const spread = () => {
      const from = new Set(found);
      for (const { parent, child } of likely) {
        if (from.has(parent)) found.add(child);
        if (from.has(child)) found.add(parent);
      }
    };
    if (kind === "blanket") {
      const children = new Set(likely.filter((edge) => edge.parent === centre).map((edge) => edge.child));
      for (const { parent, child } of likely) {
        if (child === centre || children.has(child)) found.add(parent);
      }
      children.forEach((v) => found.add(v));
    } else {
      for (let k = 0; k < Number(kind); k += 1) spread();
    }
    return found;
  }

  function setScope(kind, centre) {
    Object.assign(scope, { kind, centre, curves: new Map() });
    moved.clear();
    scope.shown = kind === "all" ? new Set(order) : around(kind, centre);
    scope.arrows = arrowsAmong(scope.shown);
    const cut = scope.arrows.size < scope.possible;
    if (cut && kind !== "all") {
      const reached = new Set([centre]);
      for (const { parent, child } of scope.arrows) reached.add(parent).add(child);
      scope.shown = reached;
    }
    scope.laid = kind === "all" && places !== null && !cut;
    if (scope.laid) {
      places.forEach(([x, y], v) => { at[v] = { x, y }; });
    } else {
      const frame = canvas.getBoundingClientRect();
      layOut(Math.max(frame.width || 0, 300), Math.max(frame.height || 0, 300));
    }
    order.forEach((v) => {
      graphics.nodes[v].classList.toggle("away", !scope.shown.has(v));
      place(v);
    });
    showEdges();
    byId("scope").value = kind;
    byId("scope-centre").textContent = [
      kind === "all" ? null : `of ${name(centre)}: ${count(scope.shown.size)} of ${count(variables.length)} variables`,
      cut ? `the ${count(scope.arrows.size)} strongest of ${plural(scope.possible, "arrow")}` : null,
    ].filter(Boolean).join(", ");
    byId("all-arrows").closest("label").hidden = !cut && !least.everything;
    if (!scope.shown.has(focused.kind === "node" ? focused.index : edges[focused.index].child)) {
      elementOf(focused).setAttribute("tabindex", "-1");
      focused = { kind: "node", index: kind === "all" ? order[0] : centre };
      elementOf(focused).setAttribute("tabindex", "0");
    }
    fit();
  }

  function showEdges() {
    edges.forEach((edge, e) => {
      mark(e, "away", !isShown(edge));
      route(e);
    });
  }

  // Layers by the longest way from above, broken into rows of the width of the frame; long edges pass between the boxes.
  function layOut(width, height) {
    const there = order.filter((v) => scope.shown.has(v));
    const inside = [...scope.arrows];
    const layer = new Map();
    for (const v of there) {
      layer.set(v, Math.max(-1, ...inside.filter((edge) => edge.child === v).map((edge) => layer.get(edge.parent))) + 1);
    }
    for (const v of [...there].reverse()) {
      if (inside.some((edge) => edge.child === v)) continue;
      const below = inside.filter((edge) => edge.parent === v).map((edge) => layer.get(edge.child));
      if (below.length) layer.set(v, Math.min(...below) - 1);
    }
    const GAP = 18;
    const total = there.reduce((sum, v) => sum + sizes[v][0] + GAP, 0);
    const room = Math.max(width, Math.sqrt((total * 80 * width) / height), ...there.map((v) => sizes[v][0]));
    const rows = [];
    for (let k = Math.min(...layer.values()); k <= Math.max(...layer.values()); k += 1) {
      let row = [];
      let used = 0;
      for (const v of there.filter((u) => layer.get(u) === k)) {
        if (row.length && used + sizes[v][0] + GAP > room) { rows.push(row); row = []; used = 0; }
        row.push({ v, w: sizes[v][0], up: [], down: [] });
        used += sizes[v][0] + GAP;
      }
      if (row.length) rows.push(row);
    }
    const item = new Map();
    rows.forEach((row, r) => row.forEach((one) => item.set(one.v, Object.assign(one, { r }))));
    const ways = new Map();
    for (const edge of inside) {
      const way = [item.get(edge.parent)];
      for (let r = item.get(edge.parent).r + 1; r < item.get(edge.child).r; r += 1) {
        const passing = { v: null, w: 6, up: [], down: [], r };
        rows[r].push(passing);
        way.push(passing);
      }
      way.push(item.get(edge.child));
      for (let i = 1; i < way.length; i += 1) { way[i - 1].down.push(way[i]); way[i].up.push(way[i - 1]); }
      ways.set(edge, way);
    }
    const mean = (items, key) => items.reduce((sum, one) => sum + one[key], 0) / items.length;
    rows.forEach((row) => row.forEach((one, i) => { one.i = i / row.length; }));
    for (let sweep = 0; sweep < 12; sweep += 1) {
      const side = sweep % 2 ? "down" : "up";
      for (const row of sweep % 2 ? [...rows].reverse() : rows) {
        row.forEach((one) => { one.key = one[side].length ? mean(one[side], "i") : one.i; });
        row.sort((a, b) => a.key - b.key);
        row.forEach((one, i) => { one.i = (i + 0.5) / row.length; });
      }
    }
    const apart = (a, b) => (a.w + b.w) / 2 + (a.v === null || b.v === null ? 11 : GAP);
    rows.forEach((row) => {
      let x = 0;
      row.forEach((one, i) => { x = i ? x + apart(row[i - 1], one) : 0; one.x = x; });
      row.forEach((one) => { one.x -= x / 2; });
    });
    for (let sweep = 0; sweep < 24; sweep += 1) {
      for (const row of sweep % 2 ? [...rows].reverse() : rows) {
        const wish = row.map((one) => (one.up.length + one.down.length ? mean([...one.up, ...one.down], "x") : one.x));
        const left = [];
        row.forEach((one, i) => { left.push(i ? Math.max(wish[i], left[i - 1] + apart(row[i - 1], one)) : wish[i]); });
        const right = [...wish];
        for (let i = row.length - 2; i >= 0; i -= 1) right[i] = Math.min(wish[i], right[i + 1] - apart(row[i], row[i + 1]));
        row.forEach((one, i) => { one.x = (left[i] + right[i]) / 2; });
      }
    }
    const widest = Math.max(...rows.map((row) => row[row.length - 1].x - row[0].x)) + 120;
    const step = Math.min(150, Math.max(78, (widest * height) / width / rows.length));
    rows.forEach((row, r) => row.forEach((one) => {
      one.y = r * step;
      if (one.v !== null) at[one.v] = { x: one.x, y: one.y };
    }));
    for (const [edge, way] of ways) {
      const [first, last] = [way[0], way[way.length - 1]];
      // Ends are spread over the box, in the order of where the edges come from and go to.
      const port = (one, side, other) => {
        const sorted = [...one[side]].sort((a, b) => a.x - b.x);
        const spread = Math.min(one.w - 24, 12 * (sorted.length - 1));
        return sorted.length > 1 ? one.x - spread / 2 + (spread * sorted.indexOf(other)) / (sorted.length - 1) : one.x;
      };
      const points = [[port(first, "down", way[1]), first.y + sizes[first.v][1] / 2]];
      for (const passed of way.slice(1, -1)) points.push([passed.x, passed.y - 17], [passed.x, passed.y + 17]);
      points.push([port(last, "up", way[way.length - 2]), last.y - sizes[last.v][1] / 2]);
      const curve = [points[0]];
      for (let i = 1; i < points.length; i += 1) {
        const [a, b] = [points[i - 1], points[i]];
        curve.push([a[0], (a[1] + b[1]) / 2], [b[0], (a[1] + b[1]) / 2], b);
      }
      scope.curves.set(edge, curve);
    }
  }

  function setThreshold(value) {
    least.value = value;
    byId("threshold-value").textContent = number(value, 2);
    setScope(scope.kind, scope.centre);
    listEdges();
  }

  // Heads of arrows: all, those that the data tell, or those of the CPDAG.
  function setHeads(which) {
    canvas.dataset.heads = which;
  }

  // ---------------------------------------------------------------- view: zoom, pan, fit
  const view = { x: 0, y: 0, w: 100, h: 100 };
  const MARGIN = 24;

  const setView = () => canvas.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);

  function bounds() {
    const { x, y, width, height } = content.getBBox();
    return { x: x - MARGIN, y: y - MARGIN, w: width + 2 * MARGIN, h: height + 2 * MARGIN };
  }

  // Show all of the graph, but do not blow up a small one.
  function fit() {
    const all = bounds();
    const frame = canvas.getBoundingClientRect();
    const scale = Math.min(1.5, frame.width / all.w, frame.height / all.h) || 1;
    view.w = frame.width / scale || all.w;
    view.h = frame.height / scale || all.h;
    view.x = all.x + (all.w - view.w) / 2;
    view.y = all.y + (all.h - view.h) / 2;
    setView();
  }

  function graphPoint(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse());
    return { x: point.x, y: point.y };
  }

  function zoom(factor, centre) {
    const middle = centre || { x: view.x + view.w / 2, y: view.y + view.h / 2 };
    const frame = canvas.getBoundingClientRect();
    const least = frame.width / 6;
    const most = Math.max(bounds().w, frame.width) * 3;
    const limited = Math.min(Math.max(view.w / factor, least), most) / view.w;
    view.x = middle.x + (view.x - middle.x) * limited;
    view.y = middle.y + (view.y - middle.y) * limited;
    view.w *= limited;
    view.h *= limited;
    setView();
  }

  // Bring a variable into view, if it is not.
  function reveal(v) {
    const { x, y } = at[v];
    const [w, h] = sizes[v];
    if (x - w / 2 < view.x || x + w / 2 > view.x + view.w) view.x = x - view.w / 2;
    if (y - h < view.y || y + h > view.y + view.h) view.y = y - view.h / 2;
    setView();
  }

  const pointers = new Map();
  let drag = null;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    canvas.setPointerCapture(event.pointerId);
    const point = graphPoint(event);
    const thing = thingOf(event.target);
    drag = pointers.size > 1 ? null
      : { thing, start: point, from: thing && thing.kind === "node" ? { ...at[thing.index] } : null, clientX: event.clientX, clientY: event.clientY, far: false };
  });

  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const distance = (p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
      zoom(distance(now) / distance(before), graphPoint({ clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 }));
      pointers.set(event.pointerId, now);
      return;
    }
    pointers.set(event.pointerId, now);
    if (!drag) return;
    if (Math.hypot(now.x - drag.clientX, now.y - drag.clientY) > 4) drag.far = true;
    if (!drag.far) return;
    const point = graphPoint(event);
    if (drag.from) {
      moveNode(drag.thing.index, drag.from.x + point.x - drag.start.x, drag.from.y + point.y - drag.start.y);
    } else {
      view.x -= point.x - drag.start.x;
      view.y -= point.y - drag.start.y;
      setView();
    }
    canvas.classList.add("dragging");
  });

  function moveNode(v, x, y) {
    at[v] = { x, y };
    moved.add(v);
    place(v);
    routeAround(v);
  }

  function release(event) {
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (drag && !drag.far && event.type === "pointerup") {
      const same = pinned && drag.thing && pinned.kind === drag.thing.kind && pinned.index === drag.thing.index;
      if (drag.thing) focusOn(drag.thing);
      pin(same ? null : drag.thing);
      // Where the panel is below the graph, as on a phone, what was tapped comes into view.
      if (pinned && details.getBoundingClientRect().top >= canvas.getBoundingClientRect().bottom) {
        details.scrollIntoView({ block: "nearest" });
      }
    }
    drag = null;
  }
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), graphPoint(event));
  }, { passive: false });

  canvas.addEventListener("pointerover", (event) => {
    if (drag && drag.far) return;
    const thing = thingOf(event.target);
    if (thing) show(thing);
  });
  canvas.addEventListener("pointerout", (event) => {
    if (!thingOf(event.relatedTarget || canvas) && !(drag && drag.far)) show(pinned);
  });

  // ---------------------------------------------------------------- the graph by keyboard
  function focusOn(thing) {
    elementOf(focused).setAttribute("tabindex", "-1");
    focused = thing;
    const element = elementOf(thing);
    element.setAttribute("tabindex", "0");
    element.focus({ preventScroll: true });
  }

  // Not on the graph itself: browsers take an SVG element that listens to its focus for one that wants to have it.
  const figure = canvas.closest("figure");
  figure.addEventListener("focusin", (event) => {
    const thing = thingOf(event.target);
    if (!thing) return;
    if (elementOf(thing) !== elementOf(focused)) {
      elementOf(focused).setAttribute("tabindex", "-1");
      elementOf(thing).setAttribute("tabindex", "0");
      focused = thing;
    }
    if (!pointers.size) {
      reveal(thing.kind === "node" ? thing.index : edges[thing.index].child);
      show(thing);
    }
  });
  figure.addEventListener("focusout", (event) => {
    if (thingOf(event.target) && !canvas.contains(event.relatedTarget) && !details.contains(event.relatedTarget)) show(pinned);
  });

  const byPlace = (wanted) => edges.map((_, e) => e).filter((e) => isShown(edges[e]) && wanted(e))
    .sort((a, b) => at[edges[a].parent].x - at[edges[b].parent].x || at[edges[a].child].x - at[edges[b].child].x);

  function step(key) {
    if (focused.kind === "node") {
      const v = focused.index;
      const there = order.filter((u) => scope.shown.has(u));
      const position = there.indexOf(v);
      const to = { ArrowLeft: position - 1, ArrowRight: position + 1, Home: 0, End: there.length - 1 }[key];
      if (to !== undefined) return there[to] === undefined ? null : { kind: "node", index: there[to] };
      const mine = byPlace((e) => (key === "ArrowDown" ? edges[e].parent === v : edges[e].child === v));
      return mine.length ? { kind: "edge", index: mine[0], along: key } : null;
    }
    const edge = edges[focused.index];
    if (key === "ArrowDown") return { kind: "node", index: edge.child };
    if (key === "ArrowUp") return { kind: "node", index: edge.parent };
    if (key === "Home" || key === "End") {
      const there = order.filter((u) => scope.shown.has(u));
      return { kind: "node", index: there[key === "Home" ? 0 : there.length - 1] };
    }
    // Siblings: the other edges of the node from which this one was reached.
    const up = focused.along === "ArrowUp";
    const mine = byPlace((e) => (up ? edges[e].child === edge.child : edges[e].parent === edge.parent));
    const next = mine[mine.indexOf(focused.index) + (key === "ArrowRight" ? 1 : -1)];
    return next === undefined ? null : { kind: "edge", index: next, along: focused.along };
  }

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const directions = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] };
    if (event.shiftKey && directions[key]) {
      if (focused.kind === "node") {
        const [dx, dy] = directions[key];
        moveNode(focused.index, at[focused.index].x + dx, at[focused.index].y + dy);
        reveal(focused.index);
      }
    } else if (directions[key] || key === "Home" || key === "End") {
      const next = step(key);
      if (next) focusOn(next);
    } else if (key === "Enter" || key === " ") {
      pin(focused);
    } else if (key === "Escape") {
      pin(null);
    } else if (key === "+" || key === "=") {
      zoom(1.25);
    } else if (key === "-") {
      zoom(0.8);
    } else if (key === "0") {
      fit();
    } else {
      return;
    }
    event.preventDefault();
  });

  function showLabels(wanted) {
    byId("show-labels").checked = wanted;
    canvas.classList.toggle("with-labels", wanted);
  }

  byId("zoom-in").addEventListener("click", () => zoom(1.25));
  byId("zoom-out").addEventListener("click", () => zoom(0.8));
  byId("fit").addEventListener("click", fit);
  byId("reset").addEventListener("click", () => {
    setScope(scope.kind, scope.centre);
  });
  byId("show-labels").addEventListener("change", (event) => showLabels(event.target.checked));
  byId("hide-vanished").addEventListener("change", (event) => canvas.classList.toggle("hide-vanished", event.target.checked));
  byId("names").append(...order.map((v) => el("option", { value: name(v) })));
  byId("find").addEventListener("input", (event) => {
    const v = variables.findIndex((variable) => variable.name === event.target.value);
    if (v < 0) return;
    if (scope.kind !== "all") {
      setScope(scope.kind, v);
      pin({ kind: "node", index: v });
      return;
    }
    const shownAt = { ...view };
    view.w = Math.min(view.w, Math.max(canvas.getBoundingClientRect().width, 400));
    view.h = (shownAt.h * view.w) / shownAt.w;
    view.x = at[v].x - view.w / 2;
    view.y = at[v].y - view.h / 2;
    setView();
    pin({ kind: "node", index: v });
  });

  // ---------------------------------------------------------------- choosing a context
  const variableSelect = byId("context-variable");
  const stateSelect = byId("context-state");

  function offerStates() {
    const v = Number(variableSelect.value);
    stateSelect.replaceChildren(...variables[v].states.map((label, x) => el("option", { value: x }, label)));
  }

  function choose(v, x) {
    if (x === null) chosen.delete(v); else chosen.set(v, x);
    contextChanged();
  }

  function chooseAll(context) {
    chosen.clear();
    for (const [v, x] of context) chosen.set(v, x);
    contextChanged();
  }

  function contextChanged() {
    const lost = [];
    let held = 0;
    edges.forEach((edge, e) => {
      const gone = chosen.size > 0 && vanishes(edge);
      const fixed = !gone && chosen.has(edge.parent);
      const { group } = graphics.edges[e];
      mark(e, "vanished", gone);
      mark(e, "held", fixed);
      group.setAttribute("data-state", gone ? "vanished" : fixed ? "held" : "left");
      if (gone) lost.push(e);
      if (fixed) held += 1;
    });
    graphics.nodes.forEach((node, v) => {
      const fixed = chosen.has(v);
      node.classList.toggle("fixed", fixed);
      node.querySelector(".value").textContent = fixed ? `= ${state(v, chosen.get(v))}` : "";
      node.setAttribute("aria-label",
        `${name(v)}${fixed ? `, held at ${state(v, chosen.get(v))}` : ""}. ${dependsOn(v)}`);
    });
    byId("chips").replaceChildren(...[...chosen].map(([v, x]) => el("button", {
      type: "button", class: "chip", "aria-label": `Remove ${name(v)} = ${state(v, x)} from the context`,
      onclick: () => choose(v, null),
    }, `${name(v)} = ${state(v, x)}`, el("span", { "aria-hidden": "true" }, " ×"))));
    byId("clear-context").hidden = chosen.size === 0;
    byId("hide-vanished").closest("label").hidden = chosen.size === 0;
    const result = byId("context-result");
    if (!chosen.size) {
      result.replaceChildren();
    } else {
      const names = lost.slice(0, 12).map(arrow);
      if (lost.length > 12) names.push(`${lost.length - 12} more`);
      result.replaceChildren(
        el("strong", null, lost.length
          ? `The model leaves out ${count(lost.length)} of ${plural(edges.length, "dependence")}`
          : "The model keeps all dependences"),
        ` once ${inWords([...chosen])}${lost.length ? `: ${listed(names)}` : ""}.`,
        held ? ` ${plural(held, "arrow")} ${held === 1 ? "leaves" : "leave"} a variable whose state is now given.` : "");
    }
    show(shown);
    fillVariables(true);
  }

  byId("chooser").addEventListener("submit", (event) => {
    event.preventDefault();
    if (variableSelect.value !== "") choose(Number(variableSelect.value), Number(stateSelect.value));
  });
  byId("clear-context").addEventListener("click", () => { chooseAll([]); variableSelect.focus(); });
  variableSelect.append(...order.map((v) => el("option", { value: v }, name(v))));
  variableSelect.addEventListener("change", offerStates);
  offerStates();

  // ---------------------------------------------------------------- relations
  const withEvidence = relations.some((r) => r.verdict !== undefined);
  // Only what the data support, or what no data were asked about, is said to be independent.
  const FINDINGS = {
    undecided: (r) => `may or may not depend on ${listed(r.independent_of.map(name), "or")}`,
    ignored: (r) => `depends on ${name(r.against)}, which the model ignores`,
  };
  const finding = (r) => (FINDINGS[r.verdict] || (() => `does not depend on ${listed(r.independent_of.map(name), "or")}`))(r);
  const where = (r) => listed(r.context.map(([v, x]) => condition(v, x, "=")));
  const whatever = (r) => {
    const others = listed(r.given.map(name));
    if (!others || !r.context.length) return others && `given ${others}`;
    return `, whatever ${others} ${r.given.length > 1 ? "are" : "is"}`;
  };
  const columns = [
    { title: "Variable", key: (r) => name(r.target), cell: (r) => name(r.target) },
    { title: "Finding", key: finding, cell: finding },
    {
      title: "once", key: (r) => inBrief(r.context),
      cell: (r) => [r.context.length ? el("button", {
        type: "button", class: "link", title: "Show the graph in this context",
        onclick: () => { chooseAll(r.context); byId("graph").scrollIntoView({ block: "start" }); },
      }, where(r) + whatever(r)) : whatever(r)],
    },
  ];
  if (withEvidence) {
    columns.push(
      { title: "log Bayes factor", numeric: true, key: (r) => r.factor, cell: (r) => (r.factor > 0 ? "+" : "") + number(r.factor, 1) },
      { title: rowsTitle, numeric: true, key: (r) => r.rows, cell: (r) => count(r.rows) });
  }
  const bounded = report.learning && report.learning.settings && report.learning.settings.beta !== "auto";
  let sorting = { column: withEvidence ? 3 : null, descending: true };
  let allRelations = false;

  function buildRelations() {
    if (!relations.length) {
      byId("relations-lead").textContent = "Nowhere: every dependence of this model holds in all contexts.";
      byId("relations-filter").hidden = true;
      byId("relations-table").closest(".scroll").hidden = true;
      return;
    }
    byId("relations-lead").append("An ordinary graph cannot show these relations. Choose a context in the table to see the graph in it.");
    if (withEvidence) {
      const many = (verdict) => count(relations.filter((r) => r.verdict === verdict).length);
      byId("relations-lead").append(
        ` The log Bayes factor (natural${report.ess === null ? "" : `, equivalent sample size ${report.ess}`}) compares each relation with the best split of its stage on one of the variables that the relation leaves out.`
        + ` The data support ${many("supported")} of the relations and leave ${many("undecided")} undecided.`);
      if (relations.some((r) => r.verdict === "ignored")) {
        byId("relations-lead").append(
          ` They contradict ${many("ignored")}: there the model ignores a dependence${bounded ? ", which a larger context bound may include" : " because the evidence for it did not outweigh the prior's penalty for a split"}.`);
      }
    } else {
      byId("relations-lead").append(" Give the data to the report to see how strong the evidence for each of them is.");
    }
    byId("verdict").hidden = !withEvidence;
    byId("verdict").addEventListener("change", () => listRelations());
    byId("more-relations").addEventListener("click", () => { allRelations = true; listRelations(); });
    byId("relations-table").querySelector("thead tr").append(...columns.map((column, c) => el("th", {
      scope: "col", class: column.numeric ? "number" : null,
    }, el("button", { type: "button", class: "sort", onclick: () => sortBy(c) }, column.title))));
    byId("search").addEventListener("input", () => listRelations());
    listRelations();
  }

  function sortBy(column) {
    sorting = { column, descending: sorting.column === column ? !sorting.descending : Boolean(columns[column].numeric) };
    listRelations();
  }

  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));

  function listRelations() {
    const wanted = byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const verdict = byId("verdict").value;
    const text = (r) => [name(r.target), ...r.independent_of.map(name), ...r.given.map(name), inBrief(r.context)].join(" ").toLowerCase();
    const found = relations.filter((r) => {
      const words = text(r);
      return (!verdict || r.verdict === verdict) && wanted.every((word) => words.includes(word));
    });
    if (sorting.column !== null) {
      const { key } = columns[sorting.column];
      found.sort((a, b) => compare(key(a), key(b)) * (sorting.descending ? -1 : 1));
    }
    byId("relations-table").querySelectorAll("th").forEach((th, c) => {
      th.setAttribute("aria-sort", c !== sorting.column ? "none" : sorting.descending ? "descending" : "ascending");
    });
    const listedNow = allRelations ? found : found.slice(0, MOST_RELATIONS);
    byId("more-relations").hidden = listedNow.length === found.length;
    byId("more-relations").textContent = `Show all ${count(found.length)}`;
    byId("relations-table").querySelector("tbody").replaceChildren(...listedNow.map((r) => el("tr", null,
      columns.map((column) => el("td", {
        "data-title": column.title,
        class: column.numeric ? (column.key(r) < 0 ? "number against" : "number") : null,
      }, column.cell(r))))));
    byId("found").textContent = `${count(found.length)} of ${count(relations.length)}`;
  }

  // ---------------------------------------------------------------- which edges to believe
  const pairs = report.pairs || [];
  let allPairs = false;

  function buildEdges() {
    if (!report.pairs) {
      byId("edges").remove();
      byId("threshold-control").remove();
      byId("heads").querySelector('option[value="told"]').remove();
      return;
    }
    const errors = edgeError ? ` Standard errors of these probabilities are up to ${edgeError.toPrecision(2)}${edgeError > 0.1 ? ": the chains disagree, so take probabilities and directions as rough" : ""}.` : "";
    byId("edges-lead").textContent = report.one_order ? `How probable it is that two variables are joined, ${ONE_ORDER}. The slider above the graph hides less probable edges.` : `How probable it is that two variables are joined, averaged over the models that fit the data, and how that probability is divided between the two directions. An arrow means that one direction has at least 95 % of it; otherwise there is a line. The slider above the graph hides less probable edges.${errors}`;
    byId("more-edges").addEventListener("click", () => { allPairs = true; listEdges(); });
    listEdges();
  }

  function listEdges() {
    if (!report.pairs) return;
    const found = pairs.filter((pair) => Math.min(pair.forward + pair.backward, 1) >= Math.max(least.value, 0.05));
    const now = allPairs ? found : found.slice(0, MOST_RELATIONS);
    byId("more-edges").hidden = now.length === found.length;
    byId("more-edges").textContent = `Show all ${count(found.length)}`;
    const titles = ["Edge", "Joined", "This way", "Back", "In the model"];
    byId("edges-table").querySelector("thead tr").replaceChildren(...titles.map((title, i) => el("th", { scope: "col", class: i > 0 && i < 4 ? "number" : null }, title)));
    byId("edges-table").querySelector("tbody").replaceChildren(...now.map(({ from, to, forward, backward, directed, model }) => el("tr", null,
      [`${name(from)} ${directed ? "→" : "–"} ${name(to)}`, share(Math.min(forward + backward, 1)), ...(report.one_order ? ["–", "–"] : [share(forward), share(backward)]), { "->": "yes", "<-": "yes, the other way", "": "no" }[model]]
        .map((text, i) => el("td", { "data-title": titles[i], class: i > 0 && i < 4 ? "number" : null }, text)))));
    if (!found.length) byId("edges-table").querySelector("tbody").replaceChildren(el("tr", null, el("td", { colspan: 5 }, "No two variables are joined with such a probability.")));
  }

  // ---------------------------------------------------------------- the order posterior
  function ticks(low, high, wanted) {
    const span = high - low || 1;
    const raw = span / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const size = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const found = [];
    for (let t = Math.ceil(low / size) * size; t <= high + size * 1e-9; t += size) found.push(t);
    return { found, digits: Math.max(0, -Math.floor(Math.log10(size) + 1e-9)) };
  }

  function traceChart(chains) {
    const W = 560;
    const H = 260;
    const box = { left: 78, right: W - 26, top: 12, bottom: H - 38 };
    const values = chains.flatMap((chain) => chain.trace.log_scores).filter((y) => y !== null);
    const moves = Math.max(...chains.map((chain) => chain.moves), 1);
    let low = Math.min(...values);
    let high = Math.max(...values);
    if (high - low < 1e-6) { low -= 1; high += 1; }
    const x = (t) => box.left + (t / moves) * (box.right - box.left);
    const y = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
    const chart = svg("svg", {
      class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img",
      "aria-label": `Trace of the log order score of ${plural(chains.length, "chain")}: between ${number(low, 1)} and ${number(high, 1)} over ${plural(moves, "move")}`,
    });
    const vertical = ticks(low, high, 4);
    for (const t of vertical.found) {
      chart.append(svg("path", { class: "grid", d: `M${box.left} ${y(t)}H${box.right}` }),
        svg("text", { class: "tick end", x: box.left - 8, y: y(t) + 4 }, number(t, vertical.digits)));
    }
    const horizontal = ticks(0, moves, 5);
    for (const t of horizontal.found) {
      chart.append(svg("text", { class: "tick middle", x: x(t), y: box.bottom + 18 }, count(t)));
    }
    chart.append(svg("text", { class: "tick middle", x: (box.left + box.right) / 2, y: H - 4 }, "moves"));
    chains.forEach((chain, c) => {
      const points = chain.trace.log_scores.map((value, k) => [x((k + 1) * chain.trace.every), value])
        .filter(([, value]) => value !== null).map(([px, value]) => `${px.toFixed(1)} ${y(value).toFixed(1)}`);
      if (points.length) chart.append(svg("path", { class: `chain chain-${c % 4}`, d: `M${points.join("L")}` }));
    });
    return el("figure", null, el("figcaption", null, "The log order score after each move, for each chain"), chart);
  }

  function heatMap(matrix, exact) {
    const p = order.length;
    const named = p <= 40;
    const longest = Math.max(...variables.map((variable) => Array.from(variable.name).length));
    const cell = named ? 22 : Math.max(4, 640 / p);
    const side = named ? Math.min(7 * Math.min(longest, 18) + 12, 150) : 4;
    const extent = side + cell * p + 2;
    const chart = svg("svg", {
      class: "chart heat", viewBox: `0 0 ${extent} ${extent}`, tabindex: "0", role: "img",
      "aria-label": `${exact ? "Probabilities that" : "Shares of the draws in which"} the variable of the row comes before that of the column; read cell by cell with the arrow keys`,
    });
    chart.style.maxWidth = `${Math.max(extent, 200)}px`;
    const levels = new Map();
    order.forEach((row, i) => order.forEach((column, j) => {
      if (i === j) return;
      const level = Math.round(matrix[row][column] * 20);
      const path = `M${side + j * cell} ${side + i * cell}h${cell}v${cell}h${-cell}z`;
      levels.set(level, (levels.get(level) || "") + path);
    }));
    for (const [level, path] of levels) {
      const shape = svg("path", { class: "cell", d: path });
      shape.style.fillOpacity = level / 20;
      chart.append(shape);
    }
    chart.append(svg("rect", { class: "frame", x: side, y: side, width: cell * p, height: cell * p }));
    if (named) {
      order.forEach((v, i) => {
        const signs = Array.from(name(v));
        const label = signs.length > 18 ? `${signs.slice(0, 17).join("")}…` : name(v);
        chart.append(svg("text", { class: "tick end", x: side - 6, y: side + (i + 0.5) * cell + 4 }, label),
          svg("text", { class: "tick", transform: `translate(${side + (i + 0.5) * cell + 4} ${side - 6}) rotate(-90)` }, label));
      });
    }
    const cursor = svg("rect", { class: "cursor", width: cell, height: cell, visibility: "hidden" });
    chart.append(cursor);
    const readout = el("p", { class: "readout", role: "status" }, "Point at a cell to read it.");
    let [row, column] = [0, Math.min(1, p - 1)];
    const read = () => {
      cursor.setAttribute("x", side + column * cell);
      cursor.setAttribute("y", side + row * cell);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = row === column ? `${name(order[row])} itself`
        : `${name(order[row])} comes before ${name(order[column])} ${exact ? `with probability ${number(matrix[order[row]][order[column]], 3)}` : `in ${number(100 * matrix[order[row]][order[column]], 1)} % of the draws`}`;
    };
    chart.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
      const [j, i] = [Math.floor((point.x - side) / cell), Math.floor((point.y - side) / cell)];
      if (i >= 0 && j >= 0 && i < p && j < p) { [row, column] = [i, j]; read(); }
    });
    chart.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!by) return;
      event.preventDefault();
      row = Math.min(Math.max(row + by[0], 0), p - 1);
      column = Math.min(Math.max(column + by[1], 0), p - 1);
      read();
    });
    chart.addEventListener("focus", read);
    return el("figure", null, el("figcaption", null, "Which variable comes before which: the darker, the surer that the one of the row comes before the one of the column"), chart, readout);
  }

  function verdictText(verdict) {
    if (!verdict) return "";
    const numbers = [
      verdict.r_hat === null ? null : `the largest R-hat is ${number(verdict.r_hat, 3)}`,
      verdict.ess === null ? null : `the smallest effective sample size ${number(verdict.ess, 0)}`,
    ].filter(Boolean).join(" and ");
    const reason = verdict.converged ? "The diagnostics give no reason to doubt the draws"
      : `The draws should not be trusted yet: ${verdict.reason}`;
    return `${reason}${numbers ? ` (of the score and of what comes before what, ${numbers})` : ""}${verdict.note ? `; ${verdict.note}` : ""}.`;
  }

  function chainTable(chains) {
    const row = (title, cells) => el("tr", null, el("th", { scope: "row" }, title), cells.map((text) => el("td", { class: "number" }, text)));
    const score = (value) => (value === null ? "–" : number(value, 2));
    return el("div", { class: "scroll" }, el("table", { class: "data fitted" },
      el("thead", null, el("tr", null, el("td"), chains.map((_, c) => el("th", { scope: "col", class: "number" },
        el("span", { class: `swatch chain-${c % 4}`, "aria-hidden": "true" }), `Chain ${c + 1}`)))),
      el("tbody", null,
        row("Moves", chains.map((chain) => count(chain.moves))),
        row("Moves that changed the order", chains.map((chain) => `${number((100 * chain.changed) / Math.max(chain.moves, 1), 0)} %`)),
        row("Draws kept", chains.map((chain) => count(chain.draws))),
        row("Log score at the start", chains.map((chain) => score(chain.start))),
        row("Best log score", chains.map((chain) => score(chain.best))))));
  }

  function orderList(everything) {
    const rest = everything ? 0 : Math.max(order.length - MOST_RELATIONS, 0);
    const list = el("ol", { class: "order" }, (rest ? order.slice(0, MOST_RELATIONS) : order).map((v) => el("li", null, name(v))),
      rest ? el("li", null, el("button", { type: "button", class: "more", onclick: () => list.replaceWith(orderList(true)) }, `${count(rest)} more`)) : null);
    return list;
  }

  function buildOrders() {
    const target = byId("orders-content");
    target.append(el("p", { class: "lead" }, "The model follows one order of the variables, in which each comes after those it depends on:"),
      orderList(false));
    if (!report.orders) {
      target.append(el("p", { class: "note" }, "The file of this model keeps no draws from the order posterior, so nothing can be said of other orders."));
      return;
    }
    const { chains, exact, verdict, precedence } = report.orders;
    target.append(el("p", null, exact ? "All orders were searched, so that what follows is exact."
      : ["Orders were drawn from their posterior distribution in ", chains.length === 1 ? "one chain" : plural(chains.length, "chain"), ". ", verdictText(verdict)]));
    if (!exact) target.append(chainTable(chains));
    const charts = el("div", { class: "charts" });
    if (!exact && chains.some((chain) => chain.trace.log_scores.some((value) => value !== null))) charts.append(traceChart(chains));
    if (precedence && order.length > 1) charts.append(heatMap(precedence, exact));
    target.append(charts);
  }

  // ---------------------------------------------------------------- effects
  function buildEffects() {
    byId("directions").textContent = report.directions;
    if (!report.effects) {
      byId("effects").remove();
      return;
    }
    const { outcome, state: label, exposures, left_out } = report.effects;
    const target = byId("effects-content");
    if (!exposures.length) {
      target.append(el("p", { class: "lead" }, `No arrows lead to ${outcome}, so nothing changes its risk in this model.`));
      return;
    }
    const withRange = ([value, lower, upper], digits = 3) => value === null ? "" : number(value, digits) + (lower === null ? "" : ` (${number(lower, digits)} to ${number(upper, digits)})`);
    const counted = exposures[0].rows[0].n !== null;
    target.append(el("p", { class: "lead" }, `The risk of ${outcome} = ${label} if a variable were set to each of its states, all else left to the model, and the risk difference against the first state: an effect only if the arrows are causal, as said above.`),
      el("p", null, counted ? "In brackets: 95% posterior intervals, given the structure of the model. Observed proportions are not adjusted for anything." : "Give the data to the report to see intervals and observed shares."));
    const heads = ["Exposure", "State", ...(counted ? ["Rows", "Observed"] : []), "Modelled risk", "Risk difference", ...(counted ? ["No effect", ""] : [])];
    const rows = exposures.flatMap(({ name: exposure, rows: states }) => states.map((row, i) => el("tr", null,
      i ? null : el("th", { scope: "rowgroup", rowspan: states.length }, exposure),
      el("td", { "data-title": "State" }, row.state),
      counted ? [el("td", { class: "number", "data-title": "Rows" }, count(row.n)), el("td", { class: "number", "data-title": "Observed" }, row.observed === null ? "–" : number(row.observed, 3))] : [],
      el("td", { class: "number", "data-title": "Modelled risk" }, withRange(row.risk)),
      el("td", { class: "number", "data-title": "Risk difference" }, i ? withRange(row.estimate) : "reference"),
      counted ? [el("td", { class: "number", "data-title": "No effect" }, row.no_effect === null ? "" : number(row.no_effect, 3)), el("td", null, row.says)] : [])));
    target.append(el("div", { class: "scroll" }, el("table", { class: "data" },
      el("thead", null, el("tr", null, heads.map((text, h) => el("th", { scope: "col", class: h > 1 && h < heads.length - (counted ? 1 : 0) ? "number" : null }, text)))),
      el("tbody", null, rows))));
    const notes = exposures.flatMap(({ name: exposure, notes: said }) => said.map((text) => el("li", null, `${exposure}: ${text}`)));
    target.append(el("details", null, el("summary", null, "What was adjusted for"), el("ul", null, notes)));
    if (left_out) target.append(el("p", { class: "note" }, `${plural(left_out, "more variable")} further away also lead to ${outcome}.`));
  }

  // ---------------------------------------------------------------- every variable
  const panels = [];

  function buildVariables() {
    for (const v of order) {
      const body = el("div", { class: "body" });
      const { parents, stages, states } = variables[v];
      const panel = el("details", null, el("summary", null, el("span", { class: "term" }, name(v)),
        el("span", { class: "brief" }, `${plural(states.length, "state")}, ${plural(stages.length, "stage")}${parents.length ? `, depends on ${listed(parents.map(name))}` : ""}`)), body);
      panel.addEventListener("toggle", () => fillPanel(panels.find((entry) => entry.v === v)));
      panels.push({ v, panel, body, stale: true });
      byId("variables-list").append(panel);
    }
    const rest = panels.slice(MOST_RELATIONS);
    for (const { panel } of rest) panel.hidden = true;
    const more = byId("more-variables");
    more.hidden = !rest.length;
    more.textContent = `Show all ${count(panels.length)}`;
    more.addEventListener("click", () => { for (const { panel } of rest) panel.hidden = false; more.hidden = true; });
    if (report.gaps) byId("variables-lead").append(` ${report.gaps.note}`);
  }

  function fillPanel(entry) {
    if (!entry.panel.open || !entry.stale) return;
    entry.stale = false;
    entry.body.replaceChildren(stageTable(entry.v));
  }

  function fillVariables(changed) {
    for (const entry of panels) {
      if (changed) entry.stale = true;
      fillPanel(entry);
    }
  }

  // ---------------------------------------------------------------- how it was learned, how to cite
  const SETTINGS = {
    beta: "Context bound", stagings: "Stagings beyond two context variables", candidates: "Candidates", alpha: "Most candidates of a variable", level: "Level of the tests",
    prior: "Prior over stagings", ess: "Equivalent sample size", gamma: "Prior counts shrink with the outcomes of a context to the power", estimate: "Order of the model", parameters: "Parameters",
    search: "Search over orders",
    knowledge: "Background knowledge", missing: "Missing values", seed: "Seed",
  };

  // What the values of settings mean, where the word alone does not say it.
  const VALUES = {
    stagings: { tree: "those that a decision tree draws", all: "all" },
    estimate: { best: "the best one found", central: "a central one among those sampled" },
    parameters: { averaged: "posterior means over all stagings", mean: "posterior means", map: "posterior modes", mle: "relative frequencies" },
    search: { exact: "all orders", mcmc: "chains" },
    missing: { error: "none", drop: "rows with any were left out", state: "a state of their own", em: "expectation-maximisation" },
  };

  function settingText(key, value) {
    if (key === "knowledge") return knowledgeText(value);
    if (key === "search" && value === "auto" && report.orders) return VALUES.search[report.orders.exact ? "exact" : "mcmc"];
    if (typeof value === "object") return JSON.stringify(value);
    return (Object.hasOwn(VALUES, key) && Object.hasOwn(VALUES[key], value)) ? VALUES[key][value] : value;
  }

  function knowledgeText(known) {
    const pairs = (list) => list.map(([a, b]) => `${a} → ${b}`).join(", ");
    return [
      known.tiers ? `tiers ${known.tiers.map((tier) => tier.join(", ")).join(" | ")}` : null,
      known.required ? `required ${pairs(known.required)}` : null,
      known.forbidden ? `forbidden ${pairs(known.forbidden)}` : null,
    ].filter(Boolean).join("; ");
  }

  function buildLearning() {
    const { learning } = report;
    const target = byId("learning-content");
    if (!learning) {
      target.append(el("p", { class: "note" }, "The file of this model does not say how it was learned."));
      return;
    }
    const facts = [];
    const add = (term, value) => { if (value !== null && value !== undefined) facts.push(el("dt", null, term), el("dd", null, String(value))); };
    add("Learned from", learning.rows === undefined ? null : plural(learning.rows, "row") + (learning.weight ? ` of total weight ${count(learning.weight)}` : ""));
    add("Log score", learning.log_score === undefined ? null : number(learning.log_score, 2));
    add("Log order score", learning.log_order_score === undefined ? null : number(learning.log_order_score, 2));
    if (learning.interrupted) add("Interrupted", "yes: this is the best model found until then");
    for (const [key, value] of Object.entries(learning.settings || {})) {
      if (value === null || value === undefined) continue;
      add(Object.hasOwn(SETTINGS, key) ? SETTINGS[key] : key, settingText(key, value));
    }
    if (learning.betas) {
      add("Context bounds beyond two", Object.entries(learning.betas).map(([variable, bound]) => `${variable} ${bound}`).join(", "));
    }
    if (learning.seconds) {
      add("Seconds", Object.entries(learning.seconds).map(([phase, seconds]) => `${phase} ${number(seconds, 2)}`).join(", "));
    }
    add("Learned by", learning.written_by);
    target.append(el("dl", { class: "facts" }, facts));
  }

  function buildCitations() {
    for (const work of report.citations) {
      byId("citing-content").append(el("h3", null, work.what), el("p", null, work.text), el("pre", { tabindex: "0", "aria-label": "BibTeX" }, work.bibtex));
    }
  }

  // ---------------------------------------------------------------- theme, printing, start
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { byId("theme").textContent = dark() ? "Light" : "Dark"; byId("theme").setAttribute("aria-label", `Use ${dark() ? "light" : "dark"} colours`); };
  byId("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; nameTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);

  let before = null;
  window.addEventListener("beforeprint", () => {
    if (before) return;
    before = { view: { ...view }, open: panels.map((entry) => entry.panel.open) };
    Object.assign(view, bounds());
    setView();
    canvas.style.aspectRatio = `${view.w} / ${view.h}`;
    canvas.style.maxWidth = `${view.w}px`;
    for (const entry of panels) { entry.panel.hidden = false; entry.panel.open = true; fillPanel(entry); }
    byId("more-variables").hidden = true;
  });
  window.addEventListener("afterprint", () => {
    if (!before) return;
    Object.assign(view, before.view);
    canvas.style.aspectRatio = "";
    canvas.style.maxWidth = "";
    setView();
    panels.forEach((entry, i) => { entry.panel.open = before.open[i]; });
    before = null;
  });

  byId("summary").textContent = [
    plural(variables.length, "variable"), plural(edges.length, "dependence"),
    `${count(labelledEdges)} of them context-specific`, plural(report.n_stages, "stage"),
    plural(report.n_free_parameters, "free parameter"),
    report.rows === null ? null : `${report.gaps && report.gaps.expected ? "expected counts" : "counts"} of ${plural(report.rows, "row")}`,
  ].filter(Boolean).join(" · ");
  buildEffects();
  byId("contents").append(...[...document.querySelectorAll("main > section")].map((section) =>
    el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
  nameTheme();
  build();
  buildRelations();
  buildEdges();
  buildOrders();
  buildVariables();
  buildLearning();
  buildCitations();
  contextChanged();
  showLabels(report.labels_shown);
  elementOf(focused).setAttribute("tabindex", "0");
  byId("scope").addEventListener("change", (event) => setScope(event.target.value, pinned && pinned.kind === "node" ? pinned.index : scope.centre));
  byId("all-arrows").addEventListener("change", (event) => { least.everything = event.target.checked; setScope(scope.kind, scope.centre); });
  byId("heads").addEventListener("change", (event) => setHeads(event.target.value));
  if (byId("threshold")) byId("threshold").addEventListener("input", (event) => setThreshold(Number(event.target.value)));
  const degree = (v) => edges.filter((edge) => edge.parent === v || edge.child === v).length;
  const hub = order.reduce((best, v) => (degree(v) > degree(best) ? v : best), order[0]);
  setScope(variables.length > MOST_AT_ONCE ? "1" : "all", hub);
  pin(null);
  new ResizeObserver(() => {
    const frame = canvas.getBoundingClientRect();
    if (!before && frame.width && frame.height) {
      // Keep the scale and the middle when the frame changes.
      const height = (view.w * frame.height) / frame.width;
      view.y += (view.h - height) / 2;
      view.h = height;
      setView();
    }
  }).observe(canvas);
  root.dataset.ready = "yes";
})();
