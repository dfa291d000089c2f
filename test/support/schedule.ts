/** `npm run proof` runs every schedule at full length; `npm test` runs its short form. */
export const isProof: boolean = process.env.POSTRIDER_PROOF === "1";

/** The only place that decides how long a schedule is. */
export function schedule<Length>(short: Length, full: Length): Length {
  return isProof ? full : short;
}
