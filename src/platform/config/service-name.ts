/** The name this service goes by: authentication realm, token prefix, database application name, log field. */
export const SERVICE_NAME = 'items';
