// The neighbourhood of a node: its producers and consumers up to a distance in edges.
export function neighbours(job, name, depth, nodeView, statisticsOf) {
  const { byName, nodes } = job.graph;
  const distance = new Map([[name, 0]]);
  const walk = (next, sign) => {
    let ring = [name];
    for (let far = 1; far <= depth; far += 1) {
      ring = ring.flatMap(next).filter((other) => !distance.has(other));
      for (const other of ring) distance.set(other, sign * far);
    }
  };
  walk((at) => byName.get(at).inputs, -1);
  walk((at) => nodes.filter((node) => node.inputs.includes(at)).map((node) => node.name), 1);
  const found = nodes.filter((node) => distance.has(node.name));
  const known = job.step > 0;
  return {
    nodes: found.map((node) => ({ ...nodeView(job, node.name), distance: distance.get(node.name) })),
    edges: found.flatMap((node) =>
      node.inputs
        .map((from, position) => ({ from, slot: 0, to: node.name, position, kind: 'data' }))
        .filter(({ from }) => distance.has(from)),
    ),
    tensors: found.map((node) => ({
      name: `${node.name}:0`,
      statistics: known ? statisticsOf(node, job.step) : null,
      statistics_step: known ? job.step : null,
    })),
    truncated: false,
  };
}
