// The logo: a path through a graph that ends in a "play" triangle.
export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 24 24" width="20" height="20" fill="none" aria-hidden>
        <path
          d="M6.5 6v5c0 1.7 1.1 2.4 2.7 2.4H12"
          stroke="currentColor"
          strokeWidth="1.8"
          opacity="0.65"
        />
        <circle cx="6.5" cy="5.5" r="2.5" fill="currentColor" opacity="0.65" />
        <path d="M12.5 8.2v10.4l8-5.2z" fill="var(--current)" />
      </svg>
      graphdbg
    </span>
  );
}
