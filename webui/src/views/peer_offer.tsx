// Offers to compare a tensor with that of the same op in other layers.

import { useMemo } from 'react';
import type { TensorSummary } from '../api/types';
import { peersOf, type Peer } from '../index/peers';
import { useScopes } from '../state/scopes';
import { Button } from '../widgets/button';
import * as words from '../words/tensor_views';

const MAX_PEERS = 8;
const NO_PEERS: readonly Peer[] = [];

export function usePeers({ node }: TensorSummary): readonly Peer[] {
  const index = useScopes((state) => state.index);
  return useMemo(() => (index === null ? NO_PEERS : peersOf(index, node, MAX_PEERS)), [index, node]);
}

interface Props {
  peers: readonly Peer[];
  slot: number;
  // Called with the name of the tensor.
  onChoose: (tensor: string) => void;
}

export function PeerOffer({ peers, slot, onChoose }: Props) {
  if (peers.length === 0) return null;
  return (
    <div className="keep-offer" role="group" aria-label={words.sameOpElsewhere}>
      <p>{words.sameOpElsewhere}</p>
      <span className="values-ways">
        {peers.map(({ name, layer }) => (
          <Button key={name} label={layer} hint={name} small onClick={() => onChoose(`${name}:${slot}`)} />
        ))}
      </span>
    </div>
  );
}
