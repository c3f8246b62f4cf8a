{
  const table = document.querySelector('table.fleet'), body = table.tBodies[0], form = document.querySelector('form.filters');
  const rows = [...body.rows], words = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
  const out = form.querySelector('output'), heads = [...table.tHead.querySelectorAll('button[data-sort]')];
  let root = null, sorted = null, down = false;
  form.hidden = false;
  for (const button of document.querySelectorAll('button.only')) button.hidden = false;

  const below = row => row.nextElementSibling?.classList.contains('card-row') ? row.nextElementSibling : null;
  const column = { job: 0, state: 1, since: 2, cause: 3, says: 4 };
  const key = row => sorted === null ? Number(row.dataset.n) : row.cells[column[sorted]].textContent.trim().toLowerCase();
  const order = (a, b) => {
    const x = key(a), y = key(b);
    if (sorted !== null && !x !== !y) return x ? -1 : 1;
    return (x < y ? -1 : x > y ? 1 : a.dataset.n - b.dataset.n) * (down ? -1 : 1);
  };
  const show = () => {
    const wanted = Object.fromEntries(new FormData(form)), text = wanted.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let many = 0;
    for (const row of rows) {
      const fits = text.every(each => words.get(row).includes(each))
        && ['outcome', 'cause', 'state', 'team', 'change'].every(name => !wanted[name] || row.dataset[name] === wanted[name])
        && (root === null || (row.dataset.root ?? '').split(' ').includes(root));
      row.hidden = !fits;
      const card = below(row);
      if (card) card.hidden = !fits;
      many += fits;
    }
    const all = rows.length.toLocaleString('en');
    out.textContent = many === rows.length ? `${all} jobs` : `${many.toLocaleString('en')} of ${all} jobs`;
    for (const button of document.querySelectorAll('button[data-cause]')) button.ariaPressed = String(form.elements.cause.value === button.dataset.cause);
    for (const button of document.querySelectorAll('button[data-only]'))
      button.ariaPressed = String(!!button.dataset.only && [form.elements.outcome.value, form.elements.change?.value].includes(button.dataset.only));
    for (const button of document.querySelectorAll('button.only')) button.textContent = button.dataset.root === root ? 'show all jobs' : 'show these jobs';
  };
  const sort = () => {
    const whole = document.createDocumentFragment();
    for (const row of [...rows].sort(order)) { const card = below(row); whole.append(row); if (card) whole.append(card); }
    body.append(whole);
    for (const head of heads) head.closest('th').ariaSort = head.dataset.sort !== sorted ? 'none' : down ? 'descending' : 'ascending';
  };
  for (const head of heads) head.addEventListener('click', () => {
    if (sorted !== head.dataset.sort) [sorted, down] = [head.dataset.sort, head.dataset.sort === 'since'];
    else if (down === (sorted === 'since')) down = !down;
    else [sorted, down] = [null, false];
    sort();
  });

  const unpacked = async words => {
    const bytes = Uint8Array.from(atob(words), each => each.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
  };
  const open = async button => {
    const row = button.closest('tr'), there = below(row);
    button.ariaExpanded = String(!there);
    if (there) return there.remove();
    const card = document.createElement('tr');
    card.className = 'card-row';
    row.after(card);
    const cell = card.insertCell();
    cell.colSpan = row.cells.length;
    cell.innerHTML = await unpacked(button.dataset.card);
    for (const link of cell.querySelectorAll('a[href]'))
      if (!document.getElementById(decodeURIComponent(link.getAttribute('href').slice(1)))) link.removeAttribute('href');
    copies(cell);
  };
  body.addEventListener('click', event => { const button = event.target.closest('button.open'); if (button) open(button); });

  form.addEventListener('input', show);
  form.addEventListener('submit', event => event.preventDefault());
  form.querySelector('.reset').addEventListener('click', () => { form.reset(); root = null; show(); });
  const choose = (name, value) => { const one = form.elements[name]; one.value = one.value === value ? '' : value; show(); };
  for (const button of document.querySelectorAll('button[data-cause]')) button.addEventListener('click', () => choose('cause', button.dataset.cause));
  for (const button of document.querySelectorAll('button[data-only]'))
    button.addEventListener('click', () => choose(['new', 'still'].includes(button.dataset.only) ? 'change' : 'outcome', button.dataset.only));
  for (const button of document.querySelectorAll('button.only'))
    button.addEventListener('click', () => { root = root === button.dataset.root ? null : button.dataset.root; show(); });

  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && event.target.name === 'text') { event.target.value = ''; show(); return event.target.blur(); }
    if (event.target.closest('input, select')) return;
    if (event.key === '/') { event.preventDefault(); return form.elements.text.focus(); }
    if (event.key !== 'j' && event.key !== 'k') return;
    const all = [...body.querySelectorAll('tr.row:not([hidden]) button.open')], at = all.indexOf(document.activeElement);
    all[Math.max(0, Math.min(all.length - 1, at + (event.key === 'j' ? 1 : -1)))]?.focus();
  });
}
