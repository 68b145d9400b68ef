"use strict";
// What the charts are made of: colours by kind, times as they are read, the box that says what is under the pointer.

const colours = {
  accepted: "--good", policy_rejection: "#8093ab", evaluator_error: "#a9b5c4", cancelled: "#c5ced9",
  unknown: "#8a8f98", transport_failure: "#8c2f39", invalid_contract: "#e58a2f", business_rule_failure: "#d4493f",
  missing_evidence: "#e3b02c", contradictory_evidence: "#a84a86",
};
const spare = { success: ["#58b38a", "#87c7a8"], neutral: ["#93a1b0", "#b3bdc9"], failure: ["#b5563a", "#c9793f", "#7d3c74", "#b8893a"] };
const ruleColours = ["#2f7fd1", "#b0569c", "#2a9d9d", "#c98a2b", "#6f78c9", "#7a9b3c"];

const dark = matchMedia("(prefers-color-scheme: dark)");

// css returns a colour of the style sheet.
function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// colourOf returns the colour of the nth kind that has a role.
function colourOf(kind, role, n) {
  const colour = colours[kind] || spare[role][n % spare[role].length];
  return colour.startsWith("--") ? css(colour) : colour;
}

function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

function percent(share) {
  return Math.round(share * 1000) / 10 + " %";
}

function number(value) {
  return String(Math.round(value * 1000) / 1000);
}

function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

const tip = {
  box: document.getElementById("tip"),

  // show puts the box beside a place of the page, where there is room.
  show(nodes, x, y) {
    this.box.replaceChildren(...nodes);
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    const right = x + 14 + width <= document.documentElement.clientWidth - 4;
    const left = right ? x + 14 : Math.max(4, x - 14 - width);
    this.box.style.left = left + scrollX + "px";
    this.box.style.top = (y - height - 12 > 0 ? y - height - 12 : y + 18) + scrollY + "px";
  },

  hide() {
    this.box.hidden = true;
  },
};
