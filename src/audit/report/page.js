'use strict';
(() => {
  const form = document.getElementById('filter');
  if (!form) return;
  const records = Array.from(document.querySelectorAll('.record'), (element) => ({
    element,
    namespace: element.dataset.namespace,
    rules: element.dataset.rules.split(' '),
    text: null,
  }));
  const { text, rule, namespace } = form.elements;
  const shown = form.querySelector('output');

  const offer = (select, values) => {
    for (const value of Array.from(new Set(values)).sort()) {
      if (value) select.add(new Option(value, value));
    }
  };
  offer(rule, records.flatMap((record) => record.rules));
  offer(namespace, records.map((record) => record.namespace));

  // Read on the first search only: most readers never search.
  const holds = (record, wanted) => {
    record.text ??= record.element.textContent.toLowerCase();
    return record.text.includes(wanted);
  };
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let count = 0;
    for (const record of records) {
      const fits = (!rule.value || record.rules.includes(rule.value))
        && (!namespace.value || record.namespace === namespace.value)
        && (!wanted || holds(record, wanted));
      record.element.hidden = !fits;
      count += fits;
    }
    shown.value = `${count} of ${records.length} shown`;
  };

  // A name in a table is a way to its records, where some of them are on the page.
  for (const name of document.querySelectorAll('[data-filter]')) {
    const select = form.elements[name.dataset.filter];
    const value = name.dataset.value;
    if (!Array.from(select.options).some((option) => option.value === value && value)) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name.textContent;
    button.title = 'Show these records';
    button.addEventListener('click', () => {
      form.reset();
      select.value = value;
      apply();
      document.getElementById('records').scrollIntoView();
    });
    name.replaceChildren(button);
  }

  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', apply);
  form.addEventListener('reset', () => setTimeout(apply));
  form.hidden = false;
  apply();
})();
