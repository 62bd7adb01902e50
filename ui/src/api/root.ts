// The address of the service: the parent of this page's folder, below whatever prefix.
export const root = new URL("../", document.baseURI).href.replace(/\/$/, "");
