/**
 * Evaluates the expressions of DocTypes' conditions without JavaScript's eval, which the Content Security Policy forbids.
 *
 * The part of JavaScript that conditions are written in: literals, names, fields, `[…]`, operators, `? :`, and calls of the
 * functions and methods below. Anything else throws.
 */
export type Names = Record<string, unknown>;

const TOKEN =
	/\s*(?:(\d+\.?\d*|\.\d+)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([A-Za-z_$][\w$]*)|(===|!==|==|!=|<=|>=|&&|\|\||\?\?|\?\.|[-+*/%<>!?:.,()[\]]))/y;
const MAX_DEPTH = 100;
const PRECEDENCE = [["??"], ["||"], ["&&"], ["==", "!=", "===", "!=="], ["<", ">", "<=", ">=", "in"], ["+", "-"], ["*", "/", "%"]];
const CONSTANTS: Names = { true: true, false: false, null: null, undefined: undefined };
const METHODS = ["includes", "indexOf", "startsWith", "endsWith", "toLowerCase", "toUpperCase", "trim"];
const FUNCTIONS: Record<string, (...values: any[]) => unknown> = {
	cint: (value) => Math.trunc(Number(value)) || 0,
	flt: (value) => Number(value) || 0,
	cstr: (value) => (value === null || value === undefined ? "" : String(value)),
	in_list: (list, value) => Array.isArray(list) && list.includes(value),
};
const OPERATORS: Record<string, (left: any, right: any) => unknown> = {
	"==": (left, right) => left == right,
	"!=": (left, right) => left != right,
	"===": (left, right) => left === right,
	"!==": (left, right) => left !== right,
	"<": (left, right) => left < right,
	">": (left, right) => left > right,
	"<=": (left, right) => left <= right,
	">=": (left, right) => left >= right,
	"+": (left, right) => left + right,
	"-": (left, right) => left - right,
	"*": (left, right) => left * right,
	"/": (left, right) => left / right,
	"%": (left, right) => left % right,
	in: (left, right) => Object.hasOwn(right, left),
};
const LAZY: Record<string, (left: unknown) => boolean> = {
	"&&": (left) => !left,
	"||": (left) => Boolean(left),
	"??": (left) => left !== null && left !== undefined,
};
type Evaluate = () => unknown;

export function evaluate(expression: string, names: Names): unknown {
	return new Parser(tokenize(expression), names).parse()();
}

function tokenize(text: string): string[] {
	const tokens: string[] = [];
	TOKEN.lastIndex = 0;
	while (TOKEN.lastIndex < text.trimEnd().length) {
		const found = TOKEN.exec(text);
		if (!found) throw new SyntaxError(`Not understood: ${text}`);
		tokens.push(found[0].trim());
	}
	return tokens;
}

/** Each method reads one kind of term and returns a function that computes its value. */
class Parser {
	private place = 0;
	private depth = 0;
	private tokens: string[];
	private names: Names;

	constructor(tokens: string[], names: Names) {
		this.tokens = tokens;
		this.names = names;
	}

	parse(): Evaluate {
		const value = this.choice();
		if (this.tokens[this.place] === undefined) return value;
		throw new SyntaxError(`Not understood: ${this.tokens[this.place]}`);
	}

	private take(token: string): boolean {
		const isNext = this.tokens[this.place] === token;
		if (isNext) this.place++;
		return isNext;
	}

	private expect(token: string) {
		if (!this.take(token)) throw new SyntaxError(`${token} is missing`);
	}

	private choice(): Evaluate {
		if (++this.depth > MAX_DEPTH) throw new SyntaxError("Nested too deeply");
		const test = this.binary(0);
		this.depth--;
		if (!this.take("?")) return test;
		const yes = this.choice();
		this.expect(":");
		const no = this.choice();
		return () => (test() ? yes() : no());
	}

	private binary(level: number): Evaluate {
		if (level === PRECEDENCE.length) return this.unary();
		let value = this.binary(level + 1);
		for (let operator; (operator = PRECEDENCE[level].find((each) => this.take(each)));) {
			value = join(operator, value, this.binary(level + 1));
		}
		return value;
	}

	private unary(): Evaluate {
		const operator = ["!", "-", "+"].find((each) => this.take(each));
		if (!operator) return this.member();
		if (++this.depth > MAX_DEPTH) throw new SyntaxError("Nested too deeply");
		const value = this.unary();
		this.depth--;
		if (operator === "!") return () => !value();
		return () => (operator === "-" ? -(value() as number) : +(value() as number));
	}

	private member(): Evaluate {
		let value = this.term();
		for (;;) {
			const owner = value;
			const isOptional = this.take("?.");
			if (isOptional || this.take(".")) {
				const name = this.tokens[this.place++] ?? "";
				if (!/^[A-Za-z_$]/.test(name)) throw new SyntaxError("A name is missing");
				if (this.take("(")) value = callMethod(owner, name, this.list(")"), isOptional);
				else value = () => read(owner(), name, isOptional);
			} else if (this.take("[")) {
				const key = this.choice();
				this.expect("]");
				value = () => read(owner(), String(key()));
			} else return value;
		}
	}

	private term(): Evaluate {
		const token = this.tokens[this.place++] ?? "";
		if (token === "(") {
			const value = this.choice();
			this.expect(")");
			return value;
		}
		if (token === "[") {
			const values = this.list("]");
			return () => values.map((value) => value());
		}
		if (/^["']/.test(token)) return () => token.slice(1, -1).replace(/\\(.)/g, "$1");
		if (/^[\d.]+$/.test(token)) return () => Number(token);
		return this.name(token);
	}

	private name(name: string): Evaluate {
		if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
		if (Object.hasOwn(FUNCTIONS, name) && this.take("(")) {
			const values = this.list(")");
			return () => FUNCTIONS[name](...values.map((value) => value()));
		}
		if (Object.hasOwn(this.names, name)) return () => this.names[name];
		throw new ReferenceError(`${name} is not known here`);
	}

	private list(end: string): Evaluate[] {
		const values: Evaluate[] = [];
		while (!this.take(end)) {
			if (values.length) this.expect(",");
			values.push(this.choice());
		}
		return values;
	}
}

function join(operator: string, left: Evaluate, right: Evaluate): Evaluate {
	const isDecided = LAZY[operator];
	if (!isDecided) return () => OPERATORS[operator](left(), right());
	return () => {
		const value = left();
		return isDecided(value) ? value : right();
	};
}

/** A value's own property. Inherited ones are unreachable, so no expression gets at a constructor. */
function read(owner: unknown, name: string, isOptional = false): unknown {
	if (isOptional && (owner === null || owner === undefined)) return undefined;
	if (owner === null || owner === undefined) throw new TypeError(`${name} of nothing`);
	return Object.hasOwn(owner as object, name) ? (owner as Names)[name] : undefined;
}

function callMethod(owner: Evaluate, name: string, values: Evaluate[], isOptional: boolean): Evaluate {
	if (!METHODS.includes(name)) throw new SyntaxError(`${name} cannot be called`);
	return () => {
		const value = owner() as any;
		if (isOptional && (value === null || value === undefined)) return undefined;
		if (typeof value !== "string" && !Array.isArray(value)) throw new TypeError(`${name} of no text or list`);
		return (value as any)[name](...values.map((each) => each()));
	};
}
