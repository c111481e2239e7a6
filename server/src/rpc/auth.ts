import { z } from "zod";
import type { SignedIn } from "../accounts/account.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import { Failure } from "../errors/failure.ts";
import { publicProcedure, router } from "./trpc.ts";

const email = z.email("must be an e-mail address").max(254);
/** Length is what makes a password strong (NIST SP 800-63B, section 5.1.1); the upper bound is for the hash. */
const newPassword = z.string().min(10, "must have at least 10 characters").max(200);
const accountName = z.string().trim().min(1, "must not be empty").max(80);

export interface AuthServices {
  readonly signIn: SignIn;
  readonly signUpIsOpen: boolean;
}

/** Signing up, in and out of the dashboard, by cookie. */
export function authRouter({ signIn, signUpIsOpen }: AuthServices) {
  return router({
    /** Makes an account with its first user, who is signed in by the answer's cookie. */
    signUp: publicProcedure
      .input(z.strictObject({ email, password: newPassword, accountName }))
      .mutation(async ({ ctx, input }) => {
        if (!signUpIsOpen) {
          throw new Failure("permission_denied", "Sign-up is closed here. Ask the operator for an account.");
        }
        const { token, signedIn } = await signIn.beginSession(await signIn.signUp(input));
        ctx.sessionCookie.set(token);
        return publicView(signedIn);
      }),

    signIn: publicProcedure
      .input(z.strictObject({ email, password: z.string().min(1).max(200) }))
      .mutation(async ({ ctx, input }) => {
        const signedIn = await signIn.signIn(input.email, input.password);
        if (ctx.session !== null) await signIn.endSession(ctx.session.token);
        const session = await signIn.beginSession(signedIn);
        ctx.sessionCookie.set(session.token);
        return publicView(signedIn);
      }),

    signOut: publicProcedure.mutation(async ({ ctx }) => {
      if (ctx.session !== null) await signIn.endSession(ctx.session.token);
      ctx.sessionCookie.clear();
    }),

    /** Who is signed in; `null` for nobody. */
    me: publicProcedure.query(({ ctx }) => (ctx.session === null ? null : publicView(ctx.session.signedIn))),
  });
}

function publicView({ user, account }: SignedIn) {
  return {
    user: { id: user.id, email: user.email },
    account: { id: account.id, name: account.name, plan: account.plan, state: account.state },
  };
}
