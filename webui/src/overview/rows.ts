// The rows of the overview: modules as a tree of their paths, in execution order.

export interface Row {
  // Distinguishes a group from the row of the group's own values.
  key: string;
  path: string;
  // The part of the path that the row adds to that of the group around it; empty for a group's own values.
  label: string;
  depth: number;
  // Numbers of the modules whose values the row combines.
  members: readonly number[];
  // Null if there is nothing to fold.
  folded: boolean | null;
}

interface Branch {
  path: string;
  label: string;
  // The number of the module with this path; -1 if it has no values of its own.
  own: number;
  children: Branch[];
  members: number[];
}

// The modules as a tree, in the order in which the first module of each branch was executed.
export class ModuleTree {
  readonly top: Branch = { path: '', label: '', own: -1, children: [], members: [] };
  private readonly byPath = new Map<string, Branch>();

  constructor(modules: readonly string[]) {
    modules.forEach((path, number) => {
      const branch = this.branch(path);
      branch.own = number;
    });
    collect(this.top);
  }

  private branch(path: string): Branch {
    const known = this.byPath.get(path);
    if (known !== undefined) return known;
    const cut = path.lastIndexOf('/');
    const parent = cut < 0 ? this.top : this.branch(path.slice(0, cut));
    const branch: Branch = { path, label: path.slice(cut + 1), own: -1, children: [], members: [] };
    parent.children.push(branch);
    this.byPath.set(path, branch);
    return branch;
  }

  // The paths of all groups.
  groups(): string[] {
    return [...this.byPath.values()].filter(({ children }) => children.length > 0).map(({ path }) => path);
  }

  rows(open: ReadonlySet<string>): Row[] {
    const rows: Row[] = [];
    const add = (branch: Branch, depth: number) => {
      const { path, label, own, children, members } = branch;
      const isOpen = children.length > 0 && open.has(path);
      rows.push({ key: path, path, label, depth, members, folded: children.length === 0 ? null : !isOpen });
      if (!isOpen) return;
      if (own >= 0) rows.push({ key: `${path}/`, path, label: '', depth: depth + 1, members: [own], folded: null });
      for (const child of children) add(child, depth + 1);
    };
    for (const branch of this.top.children) add(branch, 0);
    return rows;
  }

  // The groups that are open at first: level by level, as long as there are at most `most` rows, and
  // at least until there are `least`.
  firstOpen(least: number, most: number): Set<string> {
    const open = new Set<string>();
    let level = this.top.children;
    let count = level.length;
    while (level.length > 0) {
      const groups = level.filter(({ children }) => children.length > 0);
      const before = count;
      for (const { own, children } of groups) count += children.length + (own >= 0 ? 1 : 0);
      if (count > most && before >= least) break;
      for (const { path } of groups) open.add(path);
      level = groups.flatMap(({ children }) => children);
    }
    return open;
  }
}

function collect(branch: Branch): number[] {
  if (branch.own >= 0) branch.members.push(branch.own);
  for (const child of branch.children) for (const member of collect(child)) branch.members.push(member);
  return branch.members;
}
