// An error that is returned as a problem document.
export class Refusal extends Error {
  constructor(status, code, detail, field) {
    super(detail);
    Object.assign(this, { status, code, field });
  }
}
