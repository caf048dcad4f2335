function (doc, before, userCtx, secObj) {
  // Divan checks these rules itself, whether or not this document exists.
  function no(why) { throw {forbidden: why}; }
  function has(list, one) { return Array.isArray(list) && list.indexOf(one) >= 0; }
  function leads(part) {
    return part && (has(part.names, userCtx.name) || Array.isArray(part.roles) &&
      part.roles.some(function (role) { return has(userCtx.roles, role); }));
  }
  function text(value) { return typeof value === 'string'; }
  function whole(user) {
    return ['name', 'type', 'password_scheme', 'pbkdf2_prf', 'salt', 'derived_key', 'password_sha',
      'scram_verifier', 'sql_verifier'].every(function (key) {
        return user[key] === undefined || user[key] === null || text(user[key]);
      }) && (!user.roles || Array.isArray(user.roles) && user.roles.every(text)) &&
      (!user.iterations || typeof user.iterations === 'number' && user.iterations % 1 === 0);
  }
  function sorted(roles) { return JSON.stringify((roles || []).slice().sort()); }

  var serverAdmin = has(userCtx.roles, '_admin');
  var admin = serverAdmin || leads(secObj && secObj.admins);
  var old = before && !before._deleted ? before : null;
  if (old && !admin && !whole(old)) { no('Only admins may replace a malformed user doc.'); }
  if (doc._deleted) {
    if (serverAdmin || userCtx.name && old && old.name === userCtx.name) { return; }
    no('Only admins may delete other user docs.');
  }

  var scheme = doc.password_scheme === undefined ? null : doc.password_scheme;
  if (doc.type !== 'user') { no('doc.type must be user'); }
  if (!text(doc.name) || !doc.name) { no('doc.name is required'); }
  if (doc.roles === undefined || doc.roles === null) { no('doc.roles must exist'); }
  if (!Array.isArray(doc.roles)) { no('doc.roles must be an array'); }
  if (!doc.roles.every(text)) { no('doc.roles can only contain strings'); }
  if (doc._id !== 'org.couchdb.user:' + doc.name) { no('Doc ID must be of the form org.couchdb.user:name'); }
  if (scheme === 'scram-sha-256' &&
      !/^SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+\/]+=*\$[A-Za-z0-9+\/]+=*:[A-Za-z0-9+\/]+=*$/.test(doc.scram_verifier)) {
    no('scram_verifier must be SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY.');
  }
  if (scheme !== null && !has(['simple', 'pbkdf2', 'scram-sha-256'], scheme)) {
    no('Password scheme is not supported.');
  }
  if (scheme === 'pbkdf2' && typeof doc.iterations !== 'number') { no('iterations must be a number.'); }
  if (scheme === 'pbkdf2' && !text(doc.derived_key)) { no('derived_key must be a string.'); }
  if (doc.name.charAt(0) === '_') { no('Username may not start with underscore.'); }
  if (doc.name.indexOf(':') >= 0) { no('Character `:` is not allowed in usernames.'); }
  if (!whole(doc)) { no('a member of the password has the wrong type.'); }
  if (doc.password_sha && !doc.salt) { no('Users with password_sha must have a salt.'); }

  if (old && old.name !== doc.name) { no('Usernames can not be changed.'); }
  if (!admin) {
    if (!old && doc.roles.length > 0) { no('Only _admin may set roles'); }
    if (old && userCtx.name !== doc.name) { no('You may only update your own user document.'); }
    if (old && sorted(old.roles) !== sorted(doc.roles)) { no('Only _admin may edit roles'); }
  }
  doc.roles.forEach(function (role) {
    if (role.charAt(0) === '_' && role !== '_metrics') {
      no('No system roles (starting with underscore) in users db.');
    }
  });
}
