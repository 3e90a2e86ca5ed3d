import { useState } from 'react';
import { logIn, useAuth } from '../state/auth';
import { Button } from '../widgets/button';
import * as words from '../words/job';
import { Brand } from './brand';
import './login_view.css';

export function LoginView() {
  const message = useAuth((state) => state.message);
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    await logIn(token.trim());
    setBusy(false);
  };
  return (
    <main className="login">
      <form
        className="login-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '') void submit();
        }}
      >
        <h1>
          <Brand />
        </h1>
        <p>
          {words.tokenRequired} <code>graphdbg start</code> {words.tokenPrinted}{' '}
          <code>&lt;data-dir&gt;/token</code>.
        </p>
        <label htmlFor="token">{words.tokenOrUrl}</label>
        <input
          id="token"
          className="field mono"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          autoFocus
          value={token}
          aria-describedby="login-message"
          onChange={(event) => setToken(event.target.value)}
        />
        <p id="login-message" className="login-message" role="alert">
          {message}
        </p>
        <Button
          label={words.signIn}
          tone="primary"
          submit
          pending={busy}
          disabledReason={token.trim() === '' ? words.enterToken : ''}
          onClick={() => {}}
        />
      </form>
    </main>
  );
}
