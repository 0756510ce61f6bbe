"""Documents: definitions, naming, loading, validation and writing."""

default_fields = ("doctype", "name", "owner", "creation", "modified", "modified_by", "docstatus", "idx")
child_table_fields = ("parent", "parentfield", "parenttype")
optional_fields = ("_user_tags", "_comments", "_assign", "_liked_by", "_seen")
table_fields = ("Table", "Table MultiSelect")
no_value_fields = (
	"Section Break",
	"Column Break",
	"Tab Break",
	"HTML",
	*table_fields,
	"Button",
	"Image",
	"Fold",
	"Heading",
)
display_fieldtypes = tuple(kind for kind in no_value_fields if kind not in table_fields)
float_like_fields = ("Float", "Currency", "Percent", "Rating")
datetime_fields = ("Datetime", "Date", "Time")
core_doctypes = ("DocType", "DocField", "DocPerm")
"""DocTypes that are defined by files of this package, because all other definitions are rows of them."""
