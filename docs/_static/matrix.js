// The filter of the matrix. Without this script the tables stand whole; with it a reader chooses a type, a standard or
// runtime, and a verdict. The choice is kept in the address, so that it can be sent on.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("matrix-filter");
  if (!place) return;
  const grid = document.querySelector("table.newest");
  const tables = [...document.querySelectorAll("table.matrix[data-table]")].filter((table) => table !== grid);
  const words = place.dataset;
  const names = JSON.parse(words.names);

  const values = {
    type: [...new Set(tables.flatMap((table) => [...table.querySelectorAll("tr[data-type]")].map((row) => row.dataset.type)))],
    table: tables.map((table) => table.dataset.table),
    verdict: [...new Set([...document.querySelectorAll("td[data-verdict]")].map((cell) => cell.dataset.verdict))],
  };

  const form = document.createElement("form");
  form.setAttribute("aria-label", words.filter);
  const chosen = {};
  const asked = new URLSearchParams(location.search);
  for (const [name, options] of Object.entries(values)) {
    const select = document.createElement("select");
    select.name = name;
    for (const value of ["", ...options]) {
      select.append(new Option(names[value] || value || words.all, value, false, value === asked.get(name)));
    }
    select.id = `matrix-${name}`;
    const label = document.createElement("label");
    label.htmlFor = select.id;
    label.textContent = words[name];
    const field = document.createElement("div");
    field.append(label, select);
    form.append(field);
    chosen[name] = select;
    select.addEventListener("change", apply);
  }
  const empty = document.createElement("p");
  empty.setAttribute("role", "status");
  place.append(form, empty);
  apply();

  function apply() {
    const [type, wanted, verdict] = ["type", "table", "verdict"].map((name) => chosen[name].value);
    let left = 0;
    for (const cell of grid.querySelectorAll("[data-type]")) {
      cell.classList.toggle("filtered-out", Boolean(type) && cell.dataset.type !== type);
    }
    for (const row of grid.querySelectorAll("tr[data-runtime]")) {
      const cells = [...row.querySelectorAll("td[data-verdict]")].filter((cell) => !type || cell.dataset.type === type);
      const fitting = cells.filter((cell) => !verdict || cell.dataset.verdict === verdict);
      row.classList.toggle("filtered-out", (wanted && row.dataset.runtime !== wanted) || fitting.length === 0);
      for (const cell of cells) cell.classList.toggle("faded", !fitting.includes(cell));
    }
    for (const table of tables) {
      let rows = 0;
      for (const row of table.querySelectorAll("tr[data-type]")) {
        const cells = [...row.querySelectorAll("td[data-verdict]")];
        const fitting = cells.filter((cell) => !verdict || cell.dataset.verdict === verdict);
        const shown = (!type || row.dataset.type === type) && (!verdict || fitting.length > 0);
        row.classList.toggle("filtered-out", !shown);
        for (const cell of cells) cell.classList.toggle("faded", !fitting.includes(cell));
        rows += shown ? 1 : 0;
      }
      const shown = rows > 0 && (!wanted || table.dataset.table === wanted);
      const section = table.closest("section");
      section.classList.toggle("filtered-out", !shown);
      left += shown ? rows : 0;
    }
    empty.textContent = left ? "" : words.none;
    const query = new URLSearchParams(Object.entries(chosen).map(([name, select]) => [name, select.value]).filter(([, value]) => value));
    const text = query.toString();
    try {
      history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
    } catch {
      // a page from a file may not change its own address in every browser; the filter works all the same
    }
  }
});
