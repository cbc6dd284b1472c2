//! Kinds of lines whose members are fields: written and read in the order in which the struct has them.

use super::EntryError;
use super::line::{Line, LineMembers};
#[cfg(test)]
use super::schema_tests::LineShape;
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use signet_json::Value;

/// A value that a member of a line holds.
pub(super) trait LineMember: Sized {
    /// Writes the member of that name.
    fn write(&self, name: &'static str, line: &mut Line<'_>);

    /// Reads it.
    fn read(name: &'static str, line: &LineMembers<'_>) -> Result<Self, EntryError>;

    /// What the schema says of it.
    #[cfg(test)]
    fn schema() -> Value;

    /// As one of the members that a kind has: mandatory, but where the type says otherwise.
    #[cfg(test)]
    fn declare(name: &'static str, schema: Value, shape: LineShape) -> LineShape {
        shape.with(name, schema)
    }
}

/// A struct whose fields are the members of a line, in the order in which they stand there; and what the line is about.
macro_rules! members {
    (
        $(#[$about:meta])*
        pub struct $line:ident {
            $( $(#[$doc:meta])* $name:literal $field:ident: $type:ty $(= $schema:expr)?, )*
        }
        $($told:tt)*
    ) => {
        $(#[$about])*
        pub struct $line {
            $( $(#[$doc])* pub $field: $type, )*
        }

        impl $crate::entry::LineKind for $line {
            fn write(&self, line: &mut $crate::entry::line::Line<'_>) {
                $( $crate::entry::members::LineMember::write(&self.$field, $name, line); )*
            }

            fn parse(
                line: signet_json::Map<String, signet_json::Value>,
            ) -> Result<Self, $crate::entry::EntryError> {
                let line = $crate::entry::line::LineMembers(&line);
                Ok(Self { $( $field: $crate::entry::members::LineMember::read($name, &line)?, )* })
            }

            #[cfg(test)]
            fn shape() -> $crate::entry::schema_tests::LineShape {
                use $crate::entry::members::LineMember;
                use $crate::entry::schema_tests::*;
                let shape = LineShape::default();
                $(
                    let schema = <$type as LineMember>::schema();
                    $( let schema = { drop(schema); $schema }; )?
                    let shape = <$type as LineMember>::declare($name, schema, shape);
                )*
                shape
            }

            $($told)*
        }
    };
}
pub(super) use members;

/// How values of a type are written, read, and what the schema says of them.
macro_rules! values {
    ($( $type:ty,
        |$value:ident, $name:ident, $line:ident| $write:expr,
        |$from:ident, $members:ident| $read:expr,
        $schema:expr; )*) => { $(
        impl LineMember for $type {
            fn write(&self, $name: &'static str, $line: &mut Line<'_>) {
                let $value = self;
                $write;
            }

            fn read($from: &'static str, $members: &LineMembers<'_>) -> Result<Self, EntryError> {
                $read
            }

            #[cfg(test)]
            fn schema() -> Value {
                use super::schema_tests::*;
                $schema
            }
        }
    )* };
}

values! {
    AgentId, |agent, name, line| line.text(name, agent.as_str()), |name, line| line.parsed(name), common("agent-id");
    SessionId, |id, name, line| line.text(name, &id.to_string()), |name, line| line.parsed(name), common("hash");
    String, |text, name, line| line.text(name, text), |name, line| line.text(name).map(str::to_owned), text();
    Digest, |hash, name, line| line.hash(name, hash), |name, line| line.digest(name), common("hash-hex");
    bool, |is, name, line| line.value(name, &Value::from(*is)), |name, line| line.truth(name), boolean();
    u64, |number, name, line| line.number(name, *number), |name, line| line.number(name), at_least(1);
    u8, |number, name, line| line.number(name, u64::from(*number)), |name, line| line.small(name), at_least(1);
    i64, |number, name, line| line.value(name, &Value::from(*number)), |name, line| line.signed(name), integer();
}

impl LineMember for MessageId {
    fn write(&self, _: &'static str, line: &mut Line<'_>) {
        line.message_id(self);
    }

    fn read(_: &'static str, line: &LineMembers<'_>) -> Result<Self, EntryError> {
        line.message_id()
    }

    #[cfg(test)]
    fn schema() -> Value {
        super::schema_tests::common("uuid")
    }

    #[cfg(test)]
    fn declare(_: &'static str, _: Value, shape: LineShape) -> LineShape {
        shape.message_id()
    }
}

impl<T: LineMember> LineMember for Option<T> {
    fn write(&self, name: &'static str, line: &mut Line<'_>) {
        if let Some(value) = self {
            value.write(name, line);
        }
    }

    fn read(name: &'static str, line: &LineMembers<'_>) -> Result<Self, EntryError> {
        let is_there = line.0.contains_key(name);
        is_there.then(|| T::read(name, line)).transpose()
    }

    #[cfg(test)]
    fn schema() -> Value {
        T::schema()
    }

    #[cfg(test)]
    fn declare(name: &'static str, schema: Value, shape: LineShape) -> LineShape {
        shape.maybe(name, schema)
    }
}

/// An enum whose variants are the names that a member of a line may have.
macro_rules! names {
    (
        $(#[$about:meta])*
        pub enum $names:ident in $member:literal {
            $( $(#[$doc:meta])* $variant:ident $name:literal, )*
        }
    ) => {
        $crate::words::words! {
            $(#[$about])*
            pub enum $names { $( $(#[$doc])* $variant $name, )* }
        }

        impl $names {
            pub(crate) fn parse(text: &str) -> Result<Self, $crate::entry::EntryError> {
                Self::of(text).ok_or($crate::entry::EntryError($member))
            }
        }

        impl $crate::entry::members::LineMember for $names {
            fn write(&self, name: &'static str, line: &mut $crate::entry::line::Line<'_>) {
                line.text(name, self.as_str());
            }

            fn read(
                name: &'static str,
                line: &$crate::entry::line::LineMembers<'_>,
            ) -> Result<Self, $crate::entry::EntryError> {
                Self::parse(line.text(name)?)
            }

            #[cfg(test)]
            fn schema() -> signet_json::Value {
                let names: Vec<&str> = Self::ALL.iter().map(|known| known.as_str()).collect();
                serde_json::json!({"enum": names})
            }
        }
    };
}
pub(super) use names;
