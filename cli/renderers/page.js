const copies = within => {
  for (const button of within.querySelectorAll('button[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const words = button.dataset.copy || button.previousElementSibling.textContent;
      try { await navigator.clipboard.writeText(words); }
      catch {
        const area = document.body.appendChild(document.createElement('textarea'));
        area.value = words; area.select(); document.execCommand('copy'); area.remove();
      }
      const label = button.textContent;
      button.textContent = 'copied'; setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
};
copies(document);
