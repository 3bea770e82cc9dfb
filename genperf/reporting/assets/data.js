// What the page is about, as genperf wrote it.
const PAGE = JSON.parse(document.getElementById("data").textContent);
const RULES = PAGE.rules;
// The predicted quantity: its name, unit, heading, and whether it is a time.
const QUANTITY = PAGE.quantity;
// The price of an hour and the work in all, as the page was written or as they were typed; null where unknown.
const JOB = { ...PAGE.job };
