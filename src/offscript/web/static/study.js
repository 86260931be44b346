// Comfort and honest times; every page works without it.
(function () {
  "use strict";
  var form = document.querySelector("form.answer[data-next]");
  if (!form) return;
  var status = form.querySelector(".saving"), button = form.querySelector("button");
  var clock = form.elements.seconds, key = "offscript:" + location.pathname + ":" + form.dataset.key;

  // Milliseconds for which the page was visible, those before a reload included.
  var spent = 0, since = null;
  try { spent = Number(sessionStorage.getItem(key)) || 0; } catch (error) { /* storage may be off */ }
  function stop() {
    if (since !== null) spent += performance.now() - since;
    since = null;
    try { sessionStorage.setItem(key, String(spent)); } catch (error) { /* storage may be off */ }
  }
  function go() { if (since === null && document.visibilityState === "visible") since = performance.now(); }
  if (clock) {
    document.addEventListener("visibilitychange", function () { document.hidden ? stop() : go(); });
    window.addEventListener("pagehide", stop);
    window.addEventListener("pageshow", go);
    go();
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !form.elements.rating) return;
    var choice = form.querySelector('input[name="rating"][value="' + CSS.escape(event.key) + '"]');
    if (choice) { choice.checked = true; choice.focus(); event.preventDefault(); }
    else if (event.key === "Enter" && event.target.tagName !== "BUTTON" && event.target.tagName !== "A") {
      event.preventDefault();
      form.requestSubmit(button);
    }
  });

  var sending = false;
  function send(data) {
    var answered;
    try {
      answered = fetch(form.action, { method: "POST", body: data, redirect: "manual" });
    } catch (error) {
      form.submit(); // whatever broke fetch, a form still works
      return;
    }
    answered.then(function (answer) {
      if (answer.type === "opaqueredirect" || answer.redirected || answer.ok) {
        try { sessionStorage.removeItem(key); } catch (error) { /* storage may be off */ }
        location.replace(form.dataset.next);
      } else if (answer.status >= 500) {
        again(data);
      } else {
        form.submit();
      }
    }).catch(function () { again(data); });
  }
  function again(data) {
    status.textContent = "The connection is lost. Your answer is kept and sent again …";
    setTimeout(function () { send(data); }, 1000);
  }
  form.addEventListener("submit", function (event) {
    if (sending) { event.preventDefault(); return; }
    if (clock) { stop(); clock.value = (spent / 1000).toFixed(3); }
    if (typeof fetch !== "function") return;
    sending = true;
    event.preventDefault();
    status.textContent = "Saving …";
    send(new URLSearchParams(new FormData(form)));
  });
})();
