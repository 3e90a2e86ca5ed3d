// The likely cause of a node's hit, with the numbers that show it.

import { Stethoscope } from 'lucide-react';
import type { Hit, NodeDetail } from '../api/types';
import { sentence } from '../base/format';
import { followEvidence } from '../state/incidents';
import { useJob } from '../state/job_store';
import { useDiagnosis } from '../state/queries';
import { useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import { Prose } from '../widgets/prose';
import * as words from '../words/incidents';
import { WhatIf } from './what_if';
import './diagnosis_card.css';

const NON_FINITE = new Set(['nan', 'inf', 'overflow', 'tensor_overflow']);

function Card({ hit }: { hit: Hit }) {
  const { data } = useDiagnosis(hit.id);
  if (data === undefined || data.title === null) return null;
  return (
    <section className="diagnosis" aria-label={words.cause}>
      <Stethoscope aria-hidden size={16} />
      <p className="diagnosis-text">
        <strong>{data.title}</strong> <Prose text={sentence(data.text ?? '')} />
        {/* More would push the values out of view; the tab with advice has all. */}
        {data.next[0] !== undefined && (
          <span className="diagnosis-try">
            <span className="muted">{words.toTry}</span> <Prose text={data.next[0]} />
          </span>
        )}
      </p>
      <span className="diagnosis-links">
        {data.evidence.map((link) => (
          <Button
            key={`${link.label} ${link.node}`}
            label={link.label}
            hint={`${link.node}:${link.slot}`}
            small
            onClick={() => followEvidence(link)}
          />
        ))}
        <GuideLink page={NON_FINITE.has(hit.condition) ? 'nan' : 'not-learning'} />
      </span>
    </section>
  );
}

// The hit that the user went to, or else the newest of the node.
export function DiagnosisCard({ node, rank }: { node: NodeDetail; rank: number }) {
  const visited = useUi((state) => state.hit);
  const hit = useJob(({ model }) => {
    const own = model.hits.filter((each) => each.node === node.name && !each.absorbed);
    const here = own.filter((each) => each.rank === rank);
    return own.find(({ id }) => id === visited) ?? here.at(-1) ?? own.at(-1);
  });
  if (hit === undefined) return null;
  return (
    <>
      <Card hit={hit} />
      <WhatIf hit={hit} />
    </>
  );
}
