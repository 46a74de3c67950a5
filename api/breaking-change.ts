/** What a change does to clients, and what does not do it. */
export interface Harm {
  readonly why: string;
  readonly instead: string;
}

/** A change to what was released that breaks clients. */
export interface BreakingChange {
  /** Of the document, like `POST /v1/items, request body`. */
  readonly place: string;
  /** In that place, like `name: maxLength 255 became 100`. */
  readonly change: string;
  readonly harm: Harm;
}

export const REMOVAL: Harm = {
  why: 'Clients that call it are answered 404 or 405.',
  instead:
    'Keep it, add what replaces it beside it, and mark it @Deprecated(). It can go in a release after its sunset has passed.',
};

export const REQUEST: Harm = {
  why: 'Requests that clients send today are refused, or come to mean something else.',
  instead:
    'Accept what was accepted. Add an optional property or parameter beside it, or another operation; or a new version of the path, and mark this one @Deprecated().',
};

export const ANSWER: Harm = {
  why: 'Clients that take the answer as it is documented find something else there, or nothing.',
  instead:
    'Keep what is there. Add a property, header or operation beside it; or a new version of the path, and mark this one @Deprecated().',
};

export const ACCESS: Harm = {
  why: 'Clients that may call it today are answered 401 or 403, or do not know how to authenticate.',
  instead: 'Leave it as open as it is. Ask for more where something new is added, or in a new version of the path.',
};

export const NAME: Harm = {
  why: 'Generated clients name their methods after it: code that calls them no longer compiles.',
  instead: 'Keep the name of the handler. Another name belongs to another operation.',
};

export const NOTICE: Harm = {
  why: 'Clients were told that they could rely on it until that day.',
  instead: 'Keep the day that was announced, or take a later one; or lift the deprecation.',
};
