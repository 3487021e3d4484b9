// Draws each picture out of the table beneath it, so that the two can never differ.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const strokes = { own: "--slot-1", hosted: "--slot-4", hybrid: "--slot-3", written: "--slot-5" };
const dashes = { hosted: [7, 4], hybrid: [2, 3], written: [2, 3] };
const tables = [...document.querySelectorAll("table[data-chart]")];
const charts = new Map();

for (const table of tables) document.getElementById(table.dataset.chart).parentElement.hidden = false;
drawAll();
dark.addEventListener("change", () => drawAll());
// A picture in a closed part has no size until that is opened.
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => charts.forEach((chart) => chart.resize()));

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("on-paper");
  drawAll(false);
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("on-paper");
  drawAll(false);
});

// On a phone a row of tabs scrolls: what is chosen is in sight.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

function drawAll(moving = true) {
  for (const table of tables) draw(table, moving);
}

function draw(table, moving) {
  const canvas = document.getElementById(table.dataset.chart);
  const rows = [...table.tBodies[0].rows];
  const xs = rows.map((row) => Number(row.dataset.x));
  const soft = colour("--soft");
  const tick = { color: soft, maxRotation: 0, autoSkipPadding: 24 };
  charts.get(canvas)?.destroy();
  charts.set(canvas, new Chart(canvas, {
    type: "line",
    data: { datasets: lines(table, rows, xs) },
    plugins: [{ id: "ground", beforeDatasetsDraw: (chart) => ground(chart, table), afterDatasetsDraw: (chart) => today(chart, table) }],
    options: {
      maintainAspectRatio: false,
      animation: moving && !calm.matches ? { duration: 300 } : false,
      interaction: { mode: "index", axis: "x", intersect: false },
      font: { family: getComputedStyle(document.body).fontFamily },
      layout: { padding: { top: table.dataset.today ? 18 : 4 } },
      scales: {
        x: { type: "linear", min: xs[0], max: xs.at(-1), grid: { display: false }, border: { color: colour("--line") }, ticks: { ...tick, includeBounds: false, callback: (value) => written(table, value) } },
        y: { min: 0, max: most(table, rows), grid: { color: colour("--line") }, border: { display: false }, ticks: { color: soft, maxTicksLimit: 5, includeBounds: false, callback: (value) => money(table, value) } },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          padding: 12, boxPadding: 6, backgroundColor: colour("--card"), borderColor: colour("--line"), borderWidth: 1,
          titleColor: colour("--ink"), bodyColor: colour("--ink"),
          callbacks: {
            title: (items) => (items.length ? [...rows[items[0].dataIndex].cells].filter((cell, place) => !heading(table, place).dataset.line).map((cell, place) => `${heading(table, place).textContent}: ${cell.textContent.trim()}`) : ""),
            label: (item) => ` ${item.dataset.label}: ${rows[item.dataIndex].cells[item.dataset.column].textContent.trim()}`,
          },
        },
      },
    },
  }));
}

function lines(table, rows, xs) {
  return [...table.tHead.rows[0].cells].filter((cell) => cell.dataset.line).map((cell) => {
    const line = cell.dataset.line;
    return {
      label: cell.textContent,
      column: cell.cellIndex,
      data: rows.map((row, place) => ({ x: xs[place], y: amount(table, row.cells[cell.cellIndex]) })),
      borderColor: colour(strokes[line]),
      backgroundColor: colour(strokes[line]),
      borderDash: dashes[line] ?? [],
      borderWidth: 2.5,
      pointRadius: 0,
      pointHoverRadius: 4,
      pointHitRadius: 8,
    };
  });
}

// A million tokens cost any sum on machines that do nothing: the picture ends where the lines still say something.
function most(table, rows) {
  if (table.dataset.axis !== "share") return undefined;
  const host = [...table.tHead.rows[0].cells].find((cell) => cell.dataset.line === "hosted");
  const own = [...table.tHead.rows[0].cells].find((cell) => cell.dataset.line === "written");
  const full = amount(table, rows.at(-1).cells[own.cellIndex]);
  return Math.max(4 * amount(table, rows[0].cells[host.cellIndex]), 3 * full);
}

// Where owning pays.
function ground(chart, table) {
  const { ctx, chartArea: area, scales: { x } } = chart;
  ctx.save();
  ctx.fillStyle = colour("--tint");
  for (const each of (table.dataset.pays ?? "").split(" ").filter(Boolean)) {
    const [first, last] = each.split(":");
    const left = Math.max(x.getPixelForValue(Number(first)), area.left);
    const right = last ? Math.min(x.getPixelForValue(Number(last)), area.right) : area.right;
    if (right > left) ctx.fillRect(left, area.top, right - left, area.bottom - area.top);
  }
  ctx.restore();
}

function today(chart, table) {
  if (!table.dataset.today) return;
  const { ctx, chartArea: area, scales: { x } } = chart;
  const at = x.getPixelForValue(Number(table.dataset.today));
  if (at < area.left - 1 || at > area.right + 1) return;
  const word = table.dataset.todayWord;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("--ink");
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(at, area.top - 4);
  ctx.lineTo(at, area.bottom);
  ctx.stroke();
  ctx.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
  const half = ctx.measureText(word).width / 2;
  ctx.fillText(word, Math.min(Math.max(at - half, area.left), area.right - 2 * half), area.top - 7);
  ctx.restore();
}

function heading(table, place) {
  return table.tHead.rows[0].cells[place];
}

// Dollars to the currency shown. Heights may be rounded; what is written comes from the table.
function amount(table, cell) {
  const data = cell.querySelector("data");
  return data ? Number(data.value) * Number(table.dataset.perUsd) : null;
}

function locale() {
  return document.documentElement.lang === "pt" ? "pt-BR" : "en-US";
}

function written(table, value) {
  const kind = table.dataset.axis === "share" ? { style: "percent", maximumFractionDigits: 0 } : { notation: "compact", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale(), kind).format(value);
}

function money(table, value) {
  const kind = value >= 10_000 ? { notation: "compact", maximumFractionDigits: 1 } : { minimumFractionDigits: 0, maximumFractionDigits: value >= 10 || value === 0 ? 0 : 2 };
  return new Intl.NumberFormat(locale(), { style: "currency", currency: table.dataset.currency, ...kind }).format(value);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
