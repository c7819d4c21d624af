import { webAddress } from './define.ts';

/**
 * Another address of a Google API: a regional or private one, or a stand-in on this machine. No other, because it is
 * sent a token of the operator's, whom whoever writes the configuration need not be.
 */
export const googleEndpoint = () =>
  webAddress()
    .refine((value) => value === '' || value.includes('${') || mayHaveToken(new URL(value)), {
      error: 'must be an address under googleapis.com, or on this machine',
      abort: true,
      when: ({ value }) => typeof value === 'string' && (value === '' || value.includes('${') || URL.canParse(value)),
    })
    .optional();

function mayHaveToken({ protocol, hostname }: URL): boolean {
  if (hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)) return true;
  return protocol === 'https:' && /(?:^|\.)googleapis\.com$/.test(hostname);
}
