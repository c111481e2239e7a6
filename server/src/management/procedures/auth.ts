import * as z from "zod";
import type { Session } from "../../accounts/sign-in.ts";
import type { SessionId, SignedIn } from "../../accounts/user.ts";
import type { Account } from "../../contract/account.ts";
import { Failure } from "../../errors/failure.ts";
import type { RpcServices } from "../rpc-services.ts";
import { publicProcedure, type RpcContext, router, sessionProcedure } from "../trpc.ts";
import { idOf, singleLine } from "./inputs.ts";

/** An e-mail address of up to 254 characters. */
export const emailInput = z.email("must be an e-mail address").max(254);
// Length is what makes a password strong (NIST SP 800-63B, section 5.1.1); the upper bound is for the hash.
/** The new password: 10 to 200 characters. */
const newPassword = z.string().min(10, "must have at least 10 characters").max(200);
/** The password of the user. */
const password = z.string().min(1).max(200);
/** The name of the new account: 1 to 80 characters. */
export const accountNameInput = singleLine(80);

/** Signing up, in and out of the dashboard, by cookie. */
export function authRouter({ signIn, signUpIsOpen }: RpcServices) {
  /** Ends the session of the caller's cookie. */
  const leave = async ({ caller }: RpcContext) => {
    if (caller.kind === "session") await signIn.leaveSession(caller.signedIn.user.id, caller.id);
  };
  /** A browser has one session: its previous one ends. */
  const begin = async (ctx: RpcContext, session: Session) => {
    await leave(ctx);
    ctx.sessionCookie.set(session);
    return publicView(session.signedIn);
  };
  return router({
    /** Creates an account with its first user. The cookie of the answer signs them in. Ends the session of an earlier cookie. */
    signUp: publicProcedure
      .input(z.strictObject({ email: emailInput, password: newPassword, accountName: accountNameInput }))
      .mutation(async ({ ctx, input }) => {
        if (!signUpIsOpen) {
          throw new Failure("permission_denied", "Sign-up is closed. Ask the operator for an account.");
        }
        return await begin(ctx, await signIn.signUp(input, ctx.clientInfo));
      }),

    /** Signs a user in with a cookie. Ends the session of an earlier cookie. */
    signIn: publicProcedure
      .input(z.strictObject({ email: emailInput, password }))
      .mutation(async ({ ctx, input }) => {
        return await begin(ctx, await signIn.signIn(input.email, input.password, ctx.clientInfo));
      }),

    /** Ends the session of the cookie, and deletes the cookie. */
    signOut: publicProcedure.mutation(async ({ ctx }) => {
      await leave(ctx);
      ctx.sessionCookie.clear();
    }),

    /** The signed-in user; `null` without one. */
    me: publicProcedure.query(({ ctx }) =>
      ctx.caller.kind === "session" || ctx.caller.kind === "management-token"
        ? publicView(ctx.caller.signedIn)
        : null,
    ),

    /** The user's sessions, last seen first. */
    sessions: sessionProcedure.query(async ({ ctx }) => ({
      /** Up to 1,000 sessions. */
      sessions: (await signIn.listSessions(ctx.user.id)).map((session) => ({
        ...session,
        /** Whether the call was made in this session. */
        isCurrent: session.id === ctx.sessionId,
      })),
    })),

    /** Ends one session. */
    endSession: sessionProcedure
      .input(
        z.strictObject({
          /** The id of the session. */
          id: idOf<SessionId>(),
        }),
      )
      .mutation(async ({ ctx, input }) => {
        await signIn.endSession(ctx.user.id, input.id);
        if (input.id === ctx.sessionId) ctx.sessionCookie.clear();
      }),

    /** Ends all sessions of the user, including the current one. */
    signOutAll: sessionProcedure.mutation(async ({ ctx }) => {
      await signIn.endAllSessions(ctx.actor);
      ctx.sessionCookie.clear();
    }),

    /** Ends every session of the user and starts a new one. */
    changePassword: sessionProcedure
      .input(
        z.strictObject({
          /** The present password. */
          current: password,
          next: newPassword,
          /** Whether the user's management tokens are revoked, too. Default `false`. */
          revokeTokens: z.boolean().default(false),
        }),
      )
      .mutation(async ({ ctx, input }) => {
        ctx.sessionCookie.set(await signIn.changePassword(ctx.actor, ctx.signedIn, input, ctx.clientInfo));
      }),
  });
}

function publicView(signedIn: SignedIn) {
  const user = {
    /** The id of the user, a UUID. */
    id: signedIn.user.id,
    /** The e-mail address, in lower case. */
    email: signedIn.user.email,
    /** `owner`: a user of an account; `operator`: an operator of the service. */
    role: signedIn.role,
  };
  return {
    /** The signed-in user. */
    user,
    /** The user's account; `null` for operators, who have none. */
    account: signedIn.role === "operator" ? null : accountView(signedIn.account),
  };
}

function accountView({ id, name, plan, state }: Account): Pick<Account, "id" | "name" | "plan" | "state"> {
  return { id, name, plan, state };
}
