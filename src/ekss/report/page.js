"use strict";
// Everything here adds to a page that is complete without it: sorting and filtering of
// tables, picking out a cluster in every figure, names of the dots of the map.
(() => {
  const find = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const make = (name, words = "", kind = "") => {
    const element = document.createElement(name);
    element.textContent = words;
    if (kind) element.className = kind;
    return element;
  };
  const facts = JSON.parse(find("#facts").textContent);
  const status = make("p", "", "sr");
  status.setAttribute("role", "status");
  document.body.append(status);
  const tell = (words) => { status.textContent = words; };

  // --- a cluster, picked out in every figure -----------------------------------------
  let picked = null;
  const nameOf = (k) => "cluster " + facts.names[k];
  function pick(k) {
    picked = k === picked ? null : k;
    for (const part of all("[data-k]")) {
      const own = part.dataset.k === String(picked);
      part.classList.toggle("off", picked !== null && !own);
      part.classList.toggle("on", own);
    }
    for (const button of all("button.pick")) {
      button.setAttribute("aria-pressed", String(button.dataset.pick === String(picked)));
    }
    tell(picked === null ? "All clusters are shown."
      : nameOf(picked) + " is picked out; Escape shows all.");
  }
  for (const cell of all("tbody th[data-k], .who[data-k], .portrait[data-k] > h3")) {
    const k = (cell.closest("[data-k]")).dataset.k;
    const button = make("button", "", "pick");
    button.type = "button";
    button.dataset.pick = k;
    button.setAttribute("aria-pressed", "false");
    button.title = "pick out " + nameOf(k) + " in all figures";
    button.append(...cell.childNodes);
    cell.append(button);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.pick");
    if (button) return pick(Number(button.dataset.pick));
    const shape = event.target.closest("svg [data-k]");
    if (shape && !shape.closest("#map")) pick(Number(shape.dataset.k));
    return undefined;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && picked !== null) pick(picked);
  });

  // --- tables that can be sorted and filtered ----------------------------------------
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const words = (cell.dataset.value || cell.textContent).trim();
    const number = Number(words.replace(/[,%\s]/g, "").replace("\u2212", "-"));
    return words !== "" && Number.isFinite(number) ? number : words.toLowerCase();
  };
  const before = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    if (typeof a === "number") return a - b;
    return a.localeCompare(b, undefined, {numeric: true});
  };
  function gather(table) {
    // The rows that stand behind "more" come into the one table.
    const more = table.closest(".card").querySelector("details.more");
    if (!more) return;
    const rest = find("tbody", more);
    table.tBodies[0].append(...rest.rows);
    more.remove();
  }
  const rowsOf = (table) => {
    const more = table.closest(".card").querySelector("details.more tbody");
    return table.tBodies[0].rows.length + (more ? more.rows.length : 0);
  };
  function makeSortable(table) {
    all("thead th", table).forEach((heading, column) => {
      const button = make("button", "", "sort");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        gather(table);
        const up = heading.getAttribute("aria-sort") !== "ascending";
        for (const other of all("thead th", table)) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
        rows.sort((a, b) => (up ? before(a[0], b[0]) : before(b[0], a[0])));
        table.tBodies[0].append(...rows.map((pair) => pair[1]));
        tell("Sorted by " + button.textContent.trim() + (up ? ", ascending." : ", descending."));
      });
    });
  }
  function makeFilter(table, what) {
    const label = make("label", "Filter " + what + " ", "filter");
    const field = make("input");
    const count = make("span", "", "count");
    field.type = "search";
    label.append(field, count);
    field.addEventListener("input", () => {
      gather(table);
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = wanted ? shown + " of " + table.tBodies[0].rows.length : "";
      tell(shown + " rows are shown.");
    });
    const place = table.closest(".scroll") || table;
    place.before(label);
  }
  for (const table of all("table.sortable")) {
    if (table.closest("details")) continue;
    makeSortable(table);
    if (table.dataset.filter && rowsOf(table) > 5) makeFilter(table, table.dataset.filter);
  }

  // --- the map: names of dots by pointer and by arrow keys ---------------------------
  const map = find("#map svg");
  const dots = facts.dots;
  if (map && dots) {
    const here = find(".here", map);
    const tip = make("div", "", "tip");
    tip.hidden = true;
    document.body.append(tip);
    const sprite = new Image();
    if (dots.sheet) sprite.src = dots.sheet.address;
    const size = map.viewBox.baseVal;
    let current = -1;
    const rowName = (i) => (dots.id ? dots.id[i] : "point " + dots.row[i]);
    const linesOf = (i) => {
      const k = dots.k[i];
      const lines = [rowName(i), nameOf(k)
        + (facts.mostly && facts.mostly[k] ? ", mostly " + facts.mostly[k] : "")];
      if (dots.told) return [...lines, ...dots.told[i]];
      dots.near[i].forEach((other, place) => {
        const times = dots.times[i][place];
        lines.push(nameOf(other) + ": " + (times === null ? "over 100" : times)
          + " times as far");
      });
      return lines;
    };
    const show = (i) => {
      current = i;
      here.setAttribute("cx", dots.x[i]);
      here.setAttribute("cy", dots.y[i]);
      here.classList.add("on");
      const lines = linesOf(i);
      tip.replaceChildren();
      if (dots.sheet && sprite.complete) {
        const {height, width, across, scale} = dots.sheet;
        const canvas = make("canvas");
        canvas.width = width * scale;
        canvas.height = height * scale;
        const pen = canvas.getContext("2d");
        pen.imageSmoothingEnabled = false;
        pen.drawImage(sprite, (i % across) * width, Math.floor(i / across) * height,
          width, height, 0, 0, canvas.width, canvas.height);
        tip.append(canvas);
      }
      lines.forEach((line, place) => tip.append(make(place ? "div" : "strong", line)));
      tip.hidden = false;
      const box = map.getBoundingClientRect();
      const x = box.left + (dots.x[i] / size.width) * box.width;
      const y = box.top + (dots.y[i] / size.height) * box.height;
      const wide = document.documentElement.clientWidth;
      const left = Math.max(4, Math.min(x + 14, wide - tip.offsetWidth - 4));
      const above = y - tip.offsetHeight - 14;
      tip.style.left = left + "px";
      tip.style.top = (above > 0 ? above : y + 14) + "px";
      tell(lines.join("; "));
    };
    const hide = () => {
      current = -1;
      tip.hidden = true;
      here.classList.remove("on");
    };
    const nearest = (event) => {
      const box = map.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * size.width;
      const y = ((event.clientY - box.top) / box.height) * size.height;
      let best = -1, least = 12 ** 2;
      for (let i = 0; i < dots.x.length; i += 1) {
        const away = (dots.x[i] - x) ** 2 + (dots.y[i] - y) ** 2;
        if (away < least) { least = away; best = i; }
      }
      return best;
    };
    const beside = (right, down) => {
      let best = current, least = Infinity;
      for (let i = 0; i < dots.x.length; i += 1) {
        const x = dots.x[i] - dots.x[current], y = dots.y[i] - dots.y[current];
        const along = x * right + y * down, across = Math.abs(x * down) + Math.abs(y * right);
        if (along > 0.05 && along + 2 * across < least) {
          least = along + 2 * across;
          best = i;
        }
      }
      return best;
    };
    const moves = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    map.setAttribute("tabindex", "0");
    map.setAttribute("role", "application");
    map.setAttribute("aria-label", map.getAttribute("aria-label")
      + " Arrow keys go from dot to dot, Enter picks out its cluster.");
    map.addEventListener("pointermove", (event) => {
      const i = nearest(event);
      if (i < 0) hide(); else if (i !== current) show(i);
    });
    map.addEventListener("pointerleave", hide);
    map.addEventListener("blur", hide);
    map.addEventListener("click", (event) => {
      const i = nearest(event);
      if (i >= 0) pick(dots.k[i]); else if (picked !== null) pick(picked);
    });
    map.addEventListener("keydown", (event) => {
      if (event.key in moves) {
        event.preventDefault();
        show(current < 0 ? 0 : beside(...moves[event.key]));
      } else if ((event.key === "Enter" || event.key === " ") && current >= 0) {
        event.preventDefault();
        pick(dots.k[current]);
      } else if (event.key === "Escape") {
        hide();
      }
    });

    // All dots as a table, made when it is first opened.
    const box = make("details", "", "card flush rows");
    box.append(make("summary", "All " + dots.x.length + " points of the map as a table"));
    find("#map").closest(".grid").after(box);
    box.addEventListener("toggle", () => {
      if (!box.open || find("table", box)) return;
      const table = make("table", "", "sortable");
      const head = table.createTHead().insertRow();
      const headings = dots.told ? ["point", "cluster"]
        : ["point", "cluster", "next cluster", "times as far"];
      for (const words of headings) {
        const heading = make("th", words);
        heading.scope = "col";
        head.append(heading);
      }
      const body = table.createTBody();
      for (let i = 0; i < dots.x.length; i += 1) {
        const row = body.insertRow();
        row.dataset.k = dots.k[i];
        const button = make("button", rowName(i), "locate");
        button.type = "button";
        button.addEventListener("click", () => {
          map.scrollIntoView({block: "center"});
          map.focus({preventScroll: true});
          show(i);
        });
        const first = row.insertCell();
        first.append(button);
        row.insertCell().textContent = facts.names[dots.k[i]];
        if (dots.told) continue;
        const [other, times] = [dots.near[i][0], dots.times[i][0]];
        row.insertCell().textContent = other === undefined ? "" : facts.names[other];
        const far = row.insertCell();
        far.textContent = other === undefined ? "" : (times === null ? "over 100" : times);
        far.dataset.value = times === null ? 1e9 : times;
      }
      const scroll = make("div", "", "scroll tall");
      scroll.append(table);
      box.append(scroll);
      makeSortable(table);
      makeFilter(table, "points");
    });
  }

  // --- copying a command -------------------------------------------------------------
  for (const command of all(".command")) {
    const button = make("button", "Copy", "copy");
    button.type = "button";
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(find("code", command));
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      const done = document.execCommand("copy");
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      tell(button.textContent);
    });
    command.append(button);
  }
})();
