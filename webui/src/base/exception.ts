// Texts of Python exceptions.

// The exception of a worker of a data loader comes as text in the message of the one that it causes.
const WORKER = /^Caught (\S+) in ([^.\n]+)\.\s*\nOriginal Traceback/;

// The exception in one line: what went wrong, and then its type.
export function exceptionLine({ type, message }: { type: string; message: string }): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const [, kind, place] = WORKER.exec(message) ?? [];
  if (kind !== undefined && place !== undefined) {
    const own = (lines.at(-1) ?? '').replace(`${kind}: `, '').trim();
    return `${own} (${kind} in ${place})`;
  }
  const [first] = lines;
  return first === undefined ? type : `${first} (${type})`;
}
