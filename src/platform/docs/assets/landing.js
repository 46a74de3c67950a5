// Only the browser knows the address of the service: a proxy may have changed its scheme and path.
for (const command of document.querySelectorAll('.command')) {
  const [code, button] = [command.querySelector('code'), command.querySelector('button')];
  code.textContent = code.textContent.replace(/\S+$/, (path) => new URL(path.slice(1), document.baseURI).href);
  button.addEventListener('click', () => {
    getSelection().selectAllChildren(code);
    // `navigator.clipboard` needs TLS.
    document.execCommand('copy');
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
}
