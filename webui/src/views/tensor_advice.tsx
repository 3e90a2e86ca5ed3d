// Likely causes of the newest hit of a tensor, and what to look at next.

import type { Hit, TensorSummary } from '../api/types';
import { fileName } from '../base/names';
import { useConditionText } from '../state/condition_text';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useAdvice, useSender } from '../state/queries';
import { useUi } from '../state/ui';
import { Notice } from '../widgets/notice';
import { Prose } from '../widgets/prose';
import * as words from '../words/advice';
import './tensor_advice.css';

function Sentences({ title, items }: { title: string; items: readonly string[] }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {items.map((item) => (
          <li key={item}>
            <Prose text={item} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function SentBy({ hit }: { hit: Hit }) {
  const sender = useSender(hit);
  if (sender === undefined) return null;
  const { node, slot, source } = sender;
  return (
    <p>
      {words.sentBy(sender.rank, sender.collective)}{' '}
      <span className="mono">
        {node}:{slot}
        {source !== null && ` (${fileName(source.file)}:${source.line} ${source.text})`}
      </span>
    </p>
  );
}

function HitAdvice({ hit }: { hit: Hit }) {
  const { conditionTitle, actualText } = useConditionText();
  const { data, error } = useAdvice(hit);
  if (error !== null) return <Notice title={describe(error)} tone="error" />;
  if (data === undefined) return <Notice title={words.loadingAdvice} busy />;
  return (
    <div className="advice">
      <p className="muted">
        {words.hitAt(conditionTitle(hit.condition), hit.step)} {actualText(hit)}
      </p>
      <SentBy hit={hit} />
      {data.causes.length === 0 ? (
        <Notice title={words.noAdvice} />
      ) : (
        <div className="advice-parts">
          <Sentences title={words.likelyCauses} items={data.causes} />
          <Sentences title={words.lookNext} items={data.next} />
        </div>
      )}
    </div>
  );
}

export function TensorAdvice({ tensor }: { tensor: TensorSummary }) {
  const visited = useUi((state) => state.hit);
  const hits = useJob(({ model }) => model.hits);
  const ofTensor = hits.filter((hit) => `${hit.node}:${hit.slot}` === tensor.name);
  const hit = ofTensor.find(({ id }) => id === visited) ?? ofTensor.at(-1);
  if (hit === undefined) return <Notice title={words.noHit}>{words.adviceAppears}</Notice>;
  return <HitAdvice hit={hit} />;
}
