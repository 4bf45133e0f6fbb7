// The filter of the matrix. Without this script the tables stand whole; with it a reader chooses an operator or one of
// its versions, a type, a standard or runtime, a verdict and a severity. The choices are those that the cells have. They
// are kept in the address, so that it can be sent on.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("matrix-filter");
  if (!place) return;
  const grid = document.querySelector("table.newest");
  const tables = [...document.querySelectorAll("table.matrix[data-table]")].filter((table) => table !== grid);
  const words = place.dataset;
  const names = JSON.parse(words.names);
  const cells = [...document.querySelectorAll("table.matrix td[data-verdict]")];
  for (const cell of cells) cell.dataset.type ??= cell.parentElement.dataset.type;

  const found = (name) => [...new Set(cells.map((cell) => cell.dataset[name]).filter(Boolean))];
  const order = JSON.parse(words.order);
  const choices = {
    operator: found("operator").flatMap((operator) => [operator, ...versions(operator)]),
    type: [...new Set([...grid.querySelectorAll("th[data-type]")].map((head) => head.dataset.type).concat(found("type")))],
    table: tables.map((table) => table.dataset.table),
    verdict: found("verdict"),
    severity: found("severity").sort((one, other) => order.indexOf(one) - order.indexOf(other)),
  };
  const selects = {};
  const form = document.createElement("form");
  form.setAttribute("aria-label", words.filter);
  const asked = new URLSearchParams(location.search);
  for (const [name, values] of Object.entries(choices)) form.append(field(name, values));
  const clear = document.createElement("button");
  clear.type = "reset";
  clear.textContent = words.clear;
  form.append(clear);
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  place.append(form, status);
  // A choice of the address is no default: "clear" leaves none.
  for (const [name, select] of Object.entries(selects)) {
    if (choices[name].includes(asked.get(name))) select.value = asked.get(name);
  }
  apply();

  // The versions that runtimes were judged by; a cell may name several.
  function versions(operator) {
    const judged = cells.filter((cell) => cell.dataset.operator === operator && !cell.closest("[data-table=standards]"));
    return [...new Set(judged.flatMap((cell) => cell.dataset.version.split(" ")))].sort();
  }

  function field(name, values) {
    const select = document.createElement("select");
    select.name = name;
    select.id = `matrix-${name}`;
    select.append(new Option(words.all, ""), ...values.map((value) => new Option(names[value] || value, value)));
    selects[name] = select;
    const label = document.createElement("label");
    label.htmlFor = select.id;
    label.textContent = words[name];
    const field = document.createElement("div");
    field.append(label, select);
    return field;
  }

  function fits(cell, chosen) {
    const { operator, version, type, verdict, severity } = cell.dataset;
    return (
      (!chosen.operator || chosen.operator === operator || version.split(" ").includes(chosen.operator)) &&
      (!chosen.type || chosen.type === type) &&
      (!chosen.verdict || chosen.verdict === verdict) &&
      (!chosen.severity || chosen.severity === severity)
    );
  }

  function apply() {
    const chosen = Object.fromEntries(Object.entries(selects).map(([name, select]) => [name, select.value]));
    const some = Object.values(chosen).some(Boolean);
    const left = showGrid(chosen, some) + tables.reduce((sum, table) => sum + showTable(table, chosen, some), 0);
    status.textContent = left ? (some ? words.left.replace("{count}", left) : "") : words.none;
    clear.disabled = !some;
    const text = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value)).toString();
    try {
      history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
    } catch {
      // a page from a file may not change its own address in every browser; the filter works all the same
    }
  }

  // The grid: rows are runtimes, columns types; what no cell is left of is hidden.
  function showGrid(chosen, some) {
    const types = new Set();
    let left = 0;
    for (const row of grid.querySelectorAll("tr[data-runtime]")) {
      const fitting = fade(row, chosen);
      const shown = (!chosen.table || row.dataset.runtime === chosen.table) && (!some || fitting.length > 0);
      row.classList.toggle("filtered-out", !shown);
      if (!shown) continue;
      left += fitting.length;
      for (const cell of fitting) types.add(cell.dataset.type);
    }
    for (const cell of grid.querySelectorAll("[data-type]")) {
      cell.classList.toggle("filtered-out", some && !types.has(cell.dataset.type));
    }
    grid.closest("section").classList.toggle("filtered-out", left === 0);
    return left;
  }

  // Every other table: rows are types.
  function showTable(table, chosen, some) {
    let left = 0;
    for (const row of table.querySelectorAll("tr[data-type]")) {
      const fitting = fade(row, chosen);
      row.classList.toggle("filtered-out", some && fitting.length === 0);
      left += fitting.length;
    }
    const shown = left > 0 && (!chosen.table || table.dataset.table === chosen.table);
    table.closest("section").classList.toggle("filtered-out", !shown);
    return shown ? left : 0;
  }

  function fade(row, chosen) {
    const inside = [...row.querySelectorAll("td[data-verdict]")];
    const fitting = inside.filter((cell) => fits(cell, chosen));
    for (const cell of inside) cell.classList.toggle("faded", !fitting.includes(cell));
    return fitting;
  }
});
