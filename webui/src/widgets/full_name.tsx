// A full name with its path muted; what does not fit is cut at the front, since
// the end says most.

import { visible } from '../base/visible';
import './full_name.css';

interface Props {
  name: string;
  // Text to mark in it, if any.
  mark?: string;
}

function Part({ text, from, to }: { text: string; from: number; to: number }) {
  if (from >= to) return text;
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  );
}

export function FullName({ name: raw, mark = '' }: Props) {
  const name = visible(raw);
  const cut = name.lastIndexOf('/') + 1;
  const at = mark === '' ? -1 : name.toLowerCase().indexOf(mark.toLowerCase());
  const from = at < 0 ? 0 : at;
  const to = at < 0 ? 0 : at + mark.length;
  return (
    <span className="full-name mono">
      <bdi>
        <span className="full-name-path">
          <Part text={name.slice(0, cut)} from={from} to={Math.min(to, cut)} />
        </span>
        <Part text={name.slice(cut)} from={Math.max(0, from - cut)} to={to - cut} />
      </bdi>
    </span>
  );
}
