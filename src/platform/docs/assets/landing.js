// The browser alone knows the address at which the service was reached: proxies may have changed its scheme and path.
const call = document.getElementById('call');
if (call) {
  call.textContent = call.textContent.replace(/\S+$/, (url) => new URL(new URL(url).pathname.slice(1), document.baseURI).href);
}
