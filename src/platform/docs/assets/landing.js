// Only the browser knows the address of the service: proxies may have changed its scheme and path.
const call = document.getElementById('call');
if (call) {
  call.textContent = call.textContent.replace(/\S+$/, (path) => new URL(path.slice(1), document.baseURI).href);
}
