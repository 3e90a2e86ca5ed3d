// The incidents of a job. Each unfolds to its hits.

import { ChevronDown, ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { Hit, Incident } from '../api/types';
import { formatCount, sentence } from '../base/format';
import { labelOf } from '../base/names';
import { useConditionText } from '../state/condition_text';
import { goToHit } from '../state/hits';
import { incidentOfStop, shownIncidents, useIncidents } from '../state/incidents';
import { useJob } from '../state/job_store';
import { unmuteAll } from '../state/mutes';
import { useIncidentHits } from '../state/queries';
import { useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { Prose } from '../widgets/prose';
import * as hitWords from '../words/hits';
import * as words from '../words/incidents';
import { mutedHint, mutedUntil } from '../words/watch';
import { MuteButton, useMutedUntil } from './mute_button';
import './incident_list.css';

// The ranks that the incident has reached; the one where it began is marked.
function RankDots({ incident }: { incident: Incident }) {
  const ranks = useJob(({ model }) => model.info?.ranks ?? []);
  if (ranks.length < 2) return null;
  const text = words.onRanks(incident.ranks, incident.first_rank);
  return (
    <span className="incident-ranks" role="img" aria-label={text} title={text}>
      {ranks.slice(0, 16).map(({ rank }) => (
        <i
          key={rank}
          className={`incident-rank${incident.ranks.includes(rank) ? ' incident-rank-hit' : ''}${
            rank === incident.first_rank ? ' incident-rank-first' : ''
          }`}
        >
          {rank === incident.first_rank ? rank : ''}
        </i>
      ))}
    </span>
  );
}

function HitRow({ hit, several }: { hit: Hit; several: boolean }) {
  const { actualText, conditionTitle } = useConditionText();
  const selected = useUi((state) => state.hit === hit.id);
  return (
    <div
      className="incident-hit"
      role="option"
      aria-selected={selected}
      title={hit.node}
      onClick={() => goToHit(hit)}
    >
      <span className="incident-hit-name">
        <FullName name={hit.slot === 0 ? hit.node : `${hit.node}:${hit.slot}`} />
        <span className="hit-detail ellipsis">
          <span className="hit-actual mono">{actualText(hit)}</span>
          <span className="muted"> · {conditionTitle(hit.condition)}</span>
        </span>
      </span>
      {several && <span className="hit-rank mono">r{hit.rank}</span>}
      {hit.origin === 'origin' && (
        <span className="hit-origin" title={hitWords.originHint}>
          {hitWords.origin}
        </span>
      )}
    </div>
  );
}

function Hits({ incident }: { incident: Incident }) {
  const { data } = useIncidentHits(incident.id);
  const visited = useUi((state) => state.hit);
  const several = useJob(({ model }) => (model.info?.world_size ?? 1) > 1);
  if (data === undefined) return <Notice title={words.loadingHits} busy />;
  const onKeyDown = (event: React.KeyboardEvent) => {
    const at = data.hits.findIndex(({ id }) => id === visited);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: data.hits.length - 1 }[event.key];
    const hit = to === undefined ? undefined : data.hits[Math.min(data.hits.length - 1, Math.max(0, to))];
    if (hit === undefined) return;
    event.preventDefault();
    goToHit(hit);
  };
  return (
    <div className="incident-hits" role="listbox" aria-label={hitWords.hits} tabIndex={0} onKeyDown={onKeyDown}>
      {data.hits.map((hit) => (
        <HitRow key={hit.id} hit={hit} several={several} />
      ))}
      {data.hits.length < incident.hit_count && (
        <div className="muted incident-more" role="presentation">
          {hitWords.shownOf(false, formatCount(data.hits.length), formatCount(incident.hit_count))}
        </div>
      )}
    </div>
  );
}

interface CardProps {
  incident: Incident;
  open: boolean;
  onToggle: () => void;
}

function IncidentCard({ incident, open, onToggle }: CardProps) {
  const { conditionTitle, incidentTitle } = useConditionText();
  const selected = useUi((state) => state.hit === incident.id);
  const until = useMutedUntil(incident);
  const { origin, diagnosis, first_reached, reached_count } = incident;
  return (
    <li className={`incident${selected ? ' incident-selected' : ''}`}>
      <div className="incident-head">
        <Button
          label={open ? words.fold : words.unfold}
          icon={open ? ChevronDown : ChevronRight}
          iconOnly
          small
          tone="quiet"
          onClick={onToggle}
        />
        <button type="button" className="incident-go" onClick={() => goToHit(origin)}>
          <strong className="incident-title">{incidentTitle(incident)}</strong>
          <span className="incident-node">
            <FullName name={origin.node} />
            <span className="muted incident-steps">{words.stepsOf(incident.steps)}</span>
          </span>
          {diagnosis.text !== null && <span className="incident-text"><Prose text={sentence(diagnosis.text)} /></span>}
        </button>
        <RankDots incident={incident} />
        <MuteButton incident={incident} />
      </div>
      <div className="incident-foot">
        {incident.conditions.map((id) => (
          <span key={id} className="tag">
            {conditionTitle(id)}
          </span>
        ))}
        {until !== null && (
          <span className="tag" title={mutedHint}>
            {mutedUntil(until)}
          </span>
        )}
        {reached_count > 0 && (
          <span className="muted ellipsis">
            {words.reached(words.tensors(reached_count, formatCount(reached_count)))}
            {first_reached !== null && words.firstReached(labelOf(first_reached.node))}
          </span>
        )}
      </div>
      {open && <Hits incident={incident} />}
    </li>
  );
}

export function IncidentList() {
  const state = useIncidents();
  const { total, incidents, muted } = state;
  const shown = shownIncidents(state);
  // That of the stop, or else the newest one, is open until the user opens another or closes it.
  const [chosen, setChosen] = useState<number | null>(null);
  const stop = useJob(({ model }) => incidentOfStop(model, incidents)?.id);
  const open = chosen ?? stop ?? shown.at(-1)?.id ?? 0;
  const hidden = (incidents?.length ?? 0) - shown.length;
  return (
    <>
      {(incidents?.length ?? 0) < total && (
        <p className="muted incident-more">{words.newest(incidents?.length ?? 0, formatCount(total))}</p>
      )}
      <ol className="incidents" aria-label={words.incidents}>
        {shown.map((incident) => (
          <IncidentCard
            key={incident.id}
            incident={incident}
            open={incident.id === open}
            onToggle={() => setChosen(incident.id === open ? 0 : incident.id)}
          />
        ))}
      </ol>
      {muted.size > 0 && hidden > 0 && (
        <div className="incident-more">
          <Button label={words.unmute(hidden)} small onClick={() => void unmuteAll()} />
        </div>
      )}
    </>
  );
}
