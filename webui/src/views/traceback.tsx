// A Python traceback whose lines of code lead to their nodes.

import { Fragment } from 'react';
import { searchLine } from '../state/search_text';
import * as words from '../words/job';

const FRAME = /^(\s*)File "([^"]+)", line (\d+)(.*)$/;

function Line({ text }: { text: string }) {
  const frame = FRAME.exec(text);
  if (frame === null) return <>{text}</>;
  const [, indent, file = '', line = '', rest] = frame;
  return (
    <>
      {indent}
      <button type="button" className="traceback-frame" title={words.showNodesOfLine} onClick={() => searchLine(file, line)}>
        {`File "${file}", line ${line}`}
      </button>
      {rest}
    </>
  );
}

export function Traceback({ text }: { text: string }) {
  return (
    <pre className="banner-traceback mono" aria-label={words.traceback} tabIndex={0}>
      {text.split('\n').map((line, number) => (
        <Fragment key={number}>
          <Line text={line} />
          {'\n'}
        </Fragment>
      ))}
    </pre>
  );
}
