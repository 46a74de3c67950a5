// Imported first. Node's diagnostic reports would show every variable of the environment, and with them the passwords of the
// database and of Redis.
process.report.excludeEnv = true;
