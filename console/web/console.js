// Keeps the parts of a page that say data-live as they are on the server: at once when a state changes, and every few
// seconds for what the windows hold. Without it the page is whole, and stands still.
(() => {
  "use strict";
  const note = document.getElementById("live");
  const parts = () => document.querySelectorAll("[data-live]");
  if (!parts().length || !window.EventSource) return;

  const every = 5000, least = 1000;
  let last = 0, waiting = 0, busy = false;

  async function renew() {
    waiting = 0;
    if (busy || document.hidden) return;
    busy = true;
    last = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts()) {
        const now = page.querySelector(`[data-live="${part.dataset.live}"]`);
        if (!now || now.isEqualNode(part)) continue;
        const focus = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
        const fresh = document.importNode(now, true);
        part.replaceWith(fresh);
        if (focus) fresh.querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
      }
      note.textContent = "live";
    } catch {
      note.textContent = "no answer; trying again";
    }
    busy = false;
  }

  function soon() {
    if (!waiting) waiting = setTimeout(renew, Math.max(0, last + least - Date.now()));
  }

  const circuit = document.body.querySelector("h1.circuit");
  const stream = new EventSource("/v1/stream" + (circuit ? "?match=" + encodeURIComponent(circuit.textContent) : ""));
  stream.addEventListener("transition", soon);
  stream.addEventListener("policies", soon);
  stream.onopen = () => { note.textContent = "live"; };
  stream.onerror = () => { note.textContent = "no answer; trying again"; };
  document.addEventListener("visibilitychange", soon);
  setInterval(soon, every);
})();
