//! Pin rules in scene files.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::locate::Source;
use crate::{PinRule, SceneError};

/// Pin rules as text: one rule or a list.
#[derive(Default)]
pub(super) struct Rules(Vec<String>);

impl JsonSchema for Rules {
    fn schema_name() -> Cow<'static, str> {
        "PinRules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Rules;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a pin rule like \"top:3%\", or a list of them")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rules, E> {
                Ok(Rules(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Rules, A::Error> {
                let mut rules = Vec::new();
                while let Some(rule) = items.next_element()? {
                    rules.push(rule);
                }
                Ok(Rules(rules))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Parses pin rules, and reports those that are malformed.
pub(super) fn parse_rules(rules: Rules, field: &str, source: &Source<'_>) -> Vec<PinRule> {
    let parse = |(position, rule): (usize, &String)| {
        rule.parse().unwrap_or_else(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            source.refuse(SceneError::Pin { at, field, source: error });
            // An empty list would be reported as a second fault.
            PinRule::None
        })
    };
    rules.0.iter().enumerate().map(parse).collect()
}
