"""Replaces the key that encrypts a site's secrets."""

from pathlib import Path

from huf.embedded import site


def read_secrets(frappe) -> list:
	"""(DocType, name, field, encrypted value) of all stored secrets."""
	query = "SELECT doctype, name, fieldname, password FROM `__Auth` WHERE encrypted = 1"
	return frappe.db.execute(query).fetchall()


def rotate_keys(frappe, home: Path) -> int:
	"""Encrypt all stored secrets with a new key and return how many there are.

	Until then the configuration contains both keys, so that the site can read all secrets after a crash at
	any point. Raises ValidationError, and changes nothing, if a secret cannot be read.
	"""
	from frappe.database import durability
	from frappe.utils.password import decrypt, encrypt

	secrets = [(decrypt(stored, key=".".join(place)), *place) for *place, stored in read_secrets(frappe)]
	folder = site.site_path(home)
	config = site.read_config(folder)
	earlier = [config["encryption_key"], *config.get("old_encryption_keys", ())]
	config = {**config, "encryption_key": site.new_encryption_key(), "old_encryption_keys": earlier}
	site.write_config(folder, config)
	frappe.local.conf.update(config)
	for secret, *place in secrets:
		frappe.db.execute(
			"UPDATE `__Auth` SET password = ? WHERE doctype = ? AND name = ? AND fieldname = ?",
			(encrypt(secret), *place),
		)
	frappe.db.commit()
	# The old key goes only when what was encrypted with the new one would survive a power failure.
	durability.sync_log(frappe.db.path)
	site.write_config(folder, {key: value for key, value in config.items() if key != "old_encryption_keys"})
	return len(secrets)
