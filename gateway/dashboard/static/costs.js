// Draws the picture of the days out of the table beneath it, so that the two can never differ.
"use strict";

const table = document.getElementById("days");
const canvas = document.getElementById("chart");
const dark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let chart = null;

if (table && canvas && table.tBodies[0].rows.length > 1) {
  canvas.parentElement.hidden = false;
  draw();
  dark.addEventListener("change", draw);
}

// On a phone a row of tabs scrolls: what is chosen is in sight.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

function draw() {
  chart?.destroy();
  const rows = [...table.tBodies[0].rows];
  const soft = colour("--soft");
  chart = new Chart(canvas, {
    type: "bar",
    data: { labels: rows.map((row) => row.dataset.axis), datasets: datasets(rows) },
    options: {
      maintainAspectRatio: false,
      animation: calm.matches ? false : { duration: 300 },
      interaction: { mode: "index", intersect: false },
      font: { family: getComputedStyle(document.body).fontFamily },
      onClick: (event) => follow(event),
      onHover: (event, found) => { canvas.style.cursor = found.length ? "pointer" : ""; },
      scales: {
        x: { stacked: true, grid: { display: false }, border: { color: colour("--line") }, ticks: { color: soft, maxRotation: 0, autoSkipPadding: 18 } },
        y: { stacked: true, grid: { color: colour("--line") }, border: { display: false }, ticks: { color: soft, maxTicksLimit: 5, callback: money } },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          reverse: true, padding: 12, boxPadding: 6, backgroundColor: colour("--card"), borderColor: colour("--line"), borderWidth: 1,
          titleColor: colour("--ink"), bodyColor: colour("--ink"), footerColor: colour("--ink"),
          filter: (item) => item.raw !== 0,
          callbacks: {
            title: (items) => (items.length ? rows[items[0].dataIndex].cells[0].textContent : ""),
            label: (item) => ` ${item.dataset.label}: ${rows[item.dataIndex].cells[item.dataset.column].textContent.trim()}`,
            footer: (items) => (items.length ? `${heading("total").textContent}: ${rows[items[0].dataIndex].querySelector(".total").textContent.trim()}` : ""),
          },
        },
      },
    },
  });
}

function datasets(rows) {
  const headings = [...table.tHead.rows[0].cells];
  const places = headings.filter((cell) => cell.dataset.slot).map((cell) => ({
    label: cell.textContent,
    column: cell.cellIndex,
    data: rows.map((row) => value(row.cells[cell.cellIndex])),
    backgroundColor: paint(Number(cell.dataset.slot)),
    borderColor: colour("--paper"),
    borderWidth: { top: 1 },
    borderSkipped: false,
    categoryPercentage: 0.9,
    barPercentage: 0.9,
    maxBarThickness: 56,
    stack: "now",
  }));
  const before = headings.find((cell) => "before" in cell.dataset);
  return before ? [...places, marks(before, rows)] : places;
}

// What the bar at each place came to before, as a short line across it.
function marks(cell, rows) {
  const half = ({ chart }) => Math.min(26, (chart.scales.x.width / rows.length) * 0.42);
  return {
    type: "line", label: cell.textContent, column: cell.cellIndex, stack: "before", order: -1, showLine: false,
    data: rows.map((row) => value(row.cells[cell.cellIndex])),
    pointStyle: "line", pointRadius: half, pointHoverRadius: half, pointBorderColor: colour("--ink"), pointBorderWidth: 2,
  };
}

function heading() {
  return table.tFoot.rows[0].cells[0];
}

// Nano-dollars to the currency shown. Heights of bars may be rounded; what is written comes from the table.
function value(cell) {
  const data = cell.querySelector("data");
  return data ? (Number(data.value) / 1e9) * Number(table.dataset.perUsd) : null;
}

function money(amount) {
  const most = amount === 0 || amount >= 10 ? 0 : amount >= 1 ? 2 : 4;
  return new Intl.NumberFormat(document.documentElement.lang === "pt" ? "pt-BR" : "en-US", {
    style: "currency", currency: table.dataset.currency, minimumFractionDigits: Math.min(most, 2), maximumFractionDigits: most,
  }).format(amount);
}

function follow(event) {
  const [hit] = chart.getElementsAtEventForMode(event, "nearest", { intersect: true }, true);
  const [column] = chart.getElementsAtEventForMode(event, "index", { intersect: false }, true);
  if (!column) return;
  const row = table.tBodies[0].rows[column.index];
  const cell = hit ? row.cells[chart.data.datasets[hit.datasetIndex].column] : row.querySelector(".total");
  const link = cell.querySelector("a") ?? row.querySelector(".total a");
  if (link) location.assign(link.href);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour for those who see it, a pattern for everybody: plain, stripes, dots, plain, lattice.
function paint(slot) {
  const ground = colour(`--slot-${Math.min(slot, 6)}`);
  if (slot === 1 || slot === 4) return ground;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 16;
  const brush = tile.getContext("2d");
  brush.fillStyle = ground;
  brush.fillRect(0, 0, 16, 16);
  brush.strokeStyle = brush.fillStyle = colour("--hatch");
  brush.lineWidth = 2;
  if (slot === 3) for (const [x, y] of [[4, 4], [12, 12]]) { brush.beginPath(); brush.arc(x, y, 1.7, 0, 7); brush.fill(); }
  else stripes(brush, slot > 4);
  return brush.createPattern(tile, "repeat");
}

function stripes(brush, both) {
  brush.beginPath();
  for (const shift of [-16, -8, 0, 8, 16]) {
    brush.moveTo(shift - 2, 18);
    brush.lineTo(shift + 18, -2);
    if (both) { brush.moveTo(shift - 2, -2); brush.lineTo(shift + 18, 18); }
  }
  brush.stroke();
}
