for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(button.dataset.copy); }
    catch {
      const area = document.body.appendChild(document.createElement('textarea'));
      area.value = button.dataset.copy; area.select(); document.execCommand('copy'); area.remove();
    }
    const label = button.textContent;
    button.textContent = 'copied'; setTimeout(() => { button.textContent = label; }, 1500);
  });
}
