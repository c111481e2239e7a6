import { type SubmitEvent, useState } from "react";
import { errorTextAt, errorTextBeside, loadErrorTextOf } from "../api/errors.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import formStyles from "../components/form.module.css";
import { FormError, Notice } from "../components/Notice.tsx";
import { PasswordField } from "../components/PasswordField.tsx";
import { LAST_EMAIL, sessionStore } from "../components/storage.ts";
import welcomeStyles from "../components/Welcome.module.css";
import { Welcome } from "../components/Welcome.tsx";
import { type ServiceInfo, useCall } from "../sign-in/call.ts";
import { ownPath } from "../sign-in/own-path.ts";

interface SignInProps {
  /** Whether anyone can create an account; undefined until it is known. */
  readonly signUp: ServiceInfo["signUp"] | undefined;
}

export function SignIn({ signUp }: SignInProps) {
  // The dashboard leads here with this parameter when the service has answered that the session is over.
  const hasEnded = new URLSearchParams(location.search).has("ended");
  const [lastEmail] = useState(() => (hasEnded ? sessionStore.read(LAST_EMAIL) : null) ?? "");
  const [email, setEmail] = useState(lastEmail);
  const [password, setPassword] = useState("");
  const { mutate, error, isPending } = useCall("signIn", () => {
    const to = new URLSearchParams(location.search).get("to");
    // Going back would lead to the form, and in browsers that keep pages to the password in it.
    location.replace(ownPath(to) ?? "/");
  });

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    mutate({ email, password });
  };
  const formError = errorTextBeside(error, ["email", "password"], loadErrorTextOf);

  return (
    <Welcome title="Sign in">
      <form onSubmit={submit} className={formStyles.form}>
        <FormError text={formError} />
        {hasEnded && formError === null ? (
          <Notice tone="warning">Your session has ended. Sign in again to go on where you were.</Notice>
        ) : null}
        <Field
          label="E-mail"
          type="email"
          autoComplete="username"
          autoFocus={lastEmail === ""}
          required
          value={email}
          error={errorTextAt(error, "email")}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          label="Password"
          autoComplete="current-password"
          autoFocus={lastEmail !== ""}
          required
          value={password}
          error={errorTextAt(error, "password")}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={isPending}>
          Sign in
        </Button>
      </form>
      <p className={welcomeStyles.aside}>Forgot your password? The operator of this service can reset it.</p>
      {signUp === "open" ? (
        <p className={welcomeStyles.aside}>
          New here? <a href="/sign-up">Create an account</a>
        </p>
      ) : null}
    </Welcome>
  );
}
