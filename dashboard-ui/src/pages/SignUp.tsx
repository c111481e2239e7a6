import { type SubmitEvent, useState } from "react";
import { changeErrorText, errorTextAt } from "../api/errors.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import formStyles from "../components/form.module.css";
import { FormError } from "../components/Notice.tsx";
import { PasswordField } from "../components/PasswordField.tsx";
import welcomeStyles from "../components/Welcome.module.css";
import { Welcome } from "../components/Welcome.tsx";
import { type ServiceInfo, useCall } from "../sign-in/call.ts";

interface SignUpProps {
  /** Whether anyone can create an account; undefined until it is known. */
  readonly signUp: ServiceInfo["signUp"] | undefined;
}

export function SignUp({ signUp }: SignUpProps) {
  const [accountName, setAccountName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { mutate, error, isPending } = useCall("signUp", () => location.replace("/"));

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    mutate({ email, password, accountName });
  };
  const formError = changeErrorText(
    error,
    ["accountName", "email", "password"],
    "The account may have been created. Try again; if the e-mail address is taken then, sign in with it.",
  );

  if (signUp === "closed") {
    return (
      <Welcome title="Sign-up is closed">
        <p>Ask the operator of this service for an account.</p>
        <p className={welcomeStyles.aside}>
          <a href="/sign-in">Sign in</a>
        </p>
      </Welcome>
    );
  }
  return (
    <Welcome title="Create an account">
      <form onSubmit={submit} className={formStyles.form}>
        <FormError text={formError} />
        <Field
          label="Account name"
          hint="Your company, team or project."
          autoComplete="organization"
          autoFocus
          required
          maxLength={80}
          value={accountName}
          error={errorTextAt(error, "accountName")}
          onChange={(event) => setAccountName(event.target.value)}
        />
        <Field
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          value={email}
          error={errorTextAt(error, "email")}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          label="Password"
          hint="At least 10 characters."
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={200}
          value={password}
          error={errorTextAt(error, "password")}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={isPending}>
          Create account
        </Button>
      </form>
      <p className={welcomeStyles.aside}>
        Have an account? <a href="/sign-in">Sign in</a>
      </p>
    </Welcome>
  );
}
