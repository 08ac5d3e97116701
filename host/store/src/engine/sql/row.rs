//! Rows, and the types that read them.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row as _};

use super::error::{Error, Result};
use super::value::{FromValue, Value};

/// The rows that a statement returned.
#[derive(Default)]
pub struct Rows {
    pub(super) columns: Columns,
    pub(super) rows: Vec<Vec<Value>>,
    /// The number of rows that the statement inserted, updated or deleted.
    pub(super) affected: u64,
}

impl Rows {
    /// Converts the first row to this type, if there is one.
    pub(super) fn read_first<R: FromRow>(mut self) -> Result<Option<R>> {
        self.rows.truncate(1);
        Ok(self.read()?.pop())
    }

    /// Converts the rows to this type.
    pub(super) fn read<R: FromRow>(self) -> Result<Vec<R>> {
        // PostgreSQL returns no column names for an unprepared statement without rows.
        if self.rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut places = Vec::with_capacity(self.columns.len());
        R::find(&self.columns, &mut places)?;
        self.rows
            .into_iter()
            .map(|values| R::read(&mut Row { values }, &mut Places(&places)))
            .collect()
    }
}

/// The columns of a statement's rows: one of the driver's rows has their names.
#[derive(Default)]
pub enum Columns {
    /// The statement returned no row.
    #[default]
    None,
    /// A row of SQLite.
    Sqlite(SqliteRow),
    /// A row of PostgreSQL.
    Postgres(PgRow),
    /// Only names.
    #[cfg(test)]
    Named(Vec<&'static str>),
}

impl Columns {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Sqlite(row) => row.len(),
            Self::Postgres(row) => row.len(),
            #[cfg(test)]
            Self::Named(names) => names.len(),
        }
    }

    /// The index of the column with this name.
    fn position(&self, name: &str) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Sqlite(row) => {
                let mut columns = row.columns().iter();
                columns.position(|column| column.name() == name)
            }
            Self::Postgres(row) => {
                let mut columns = row.columns().iter();
                columns.position(|column| column.name() == name)
            }
            #[cfg(test)]
            Self::Named(names) => names.iter().position(|column| *column == name),
        }
    }
}

/// One row. Each value can be taken once.
pub struct Row {
    values: Vec<Value>,
}

impl Row {
    /// Takes the value of the column at this index.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the column does not exist or has another type.
    pub fn take<T: FromValue>(&mut self, place: usize) -> Result<T> {
        let value = self
            .values
            .get_mut(place)
            .map(|value| std::mem::replace(value, Value::Null))
            .ok_or_else(|| Error::Mismatch(format!("the row has no column {place}")))?;
        T::from_value(value)
    }

    /// All values, in the order of the columns.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}

/// The indexes of a type's columns in the rows of a statement, in the order in which the type reads them.
pub struct Places<'p>(&'p [usize]);

impl Places<'_> {
    fn next(&mut self) -> Result<usize> {
        let (first, rest) = self
            .0
            .split_first()
            .ok_or_else(|| Error::Mismatch("the row has too few columns".to_owned()))?;
        self.0 = rest;
        Ok(*first)
    }
}

/// A type that reads rows: a tuple by the order of the columns, a struct of [`row!`](crate::engine::sql::row) by their
/// names.
pub trait FromRow: Sized {
    /// Finds its columns among those of a statement.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column is missing.
    fn find(columns: &Columns, places: &mut Vec<usize>) -> Result<()>;

    /// Reads a row.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column has another type.
    fn read(row: &mut Row, places: &mut Places<'_>) -> Result<Self>;
}

impl FromRow for Row {
    fn find(_: &Columns, _: &mut Vec<usize>) -> Result<()> {
        Ok(())
    }

    fn read(row: &mut Row, _: &mut Places<'_>) -> Result<Self> {
        Ok(Self {
            values: std::mem::take(&mut row.values),
        })
    }
}

/// A field of a struct that reads rows: a column, or another struct with columns in the same row.
pub trait Field: Sized {
    /// The columns of a struct of [`row!`](crate::engine::sql::row) that names its table.
    const COLUMNS: Option<&'static str> = None;

    /// Finds its column, which has the field's name, or its columns.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column is missing.
    fn find(columns: &Columns, name: &str, places: &mut Vec<usize>) -> Result<()>;

    /// Reads the field.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column has another type.
    fn read(row: &mut Row, places: &mut Places<'_>) -> Result<Self>;
}

macro_rules! fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn find(columns: &Columns, name: &str, places: &mut Vec<usize>) -> Result<()> {
                let place = columns
                    .position(name)
                    .ok_or_else(|| Error::Mismatch(format!("the row has no column {name}")))?;
                places.push(place);
                Ok(())
            }

            fn read(row: &mut Row, places: &mut Places<'_>) -> Result<Self> {
                row.take(places.next()?)
            }
        }
    )*};
}

fields!(
    i64,
    bool,
    String,
    Vec<u8>,
    Option<i64>,
    Option<String>,
    Option<Vec<u8>>
);

macro_rules! tuples {
    ($($count:literal: $($type:ident)*;)*) => {$(
        impl<$($type: FromValue),*> FromRow for ($($type,)*) {
            fn find(columns: &Columns, places: &mut Vec<usize>) -> Result<()> {
                if columns.len() != $count {
                    return Err(Error::Mismatch(format!("the row has {} columns, not {}", columns.len(), $count)));
                }
                places.extend(0..$count);
                Ok(())
            }

            fn read(row: &mut Row, places: &mut Places<'_>) -> Result<Self> {
                Ok(($(row.take::<$type>(places.next()?)?,)*))
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
}

/// Declares a struct that reads rows: each field is the column with its name, or another such struct. A struct that
/// names its table (`struct UserRow of users`) has the list of its columns for statements: `UserRow::COLUMNS`. A
/// statement never selects `*`, because the columns of a later release would change its result.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident of $table:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $crate::engine::sql::row! {
            @struct (const COLUMNS: Option<&'static str> = Some($name::COLUMNS);)
            $(#[$meta])*
            $visibility struct $name {
                $($(#[$field_meta])* $field_visibility $field: $type,)*
            }
        }

        impl $name {
            /// The columns, with the name of the table.
            $visibility const COLUMNS: &'static str = $crate::engine::sql::join!(", ": $(
                match <$type as $crate::engine::sql::Field>::COLUMNS {
                    Some(columns) => columns,
                    None => concat!(stringify!($table), ".", stringify!($field)),
                }
            ),*);
        }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $crate::engine::sql::row! {
            @struct ()
            $(#[$meta])*
            $visibility struct $name {
                $($(#[$field_meta])* $field_visibility $field: $type,)*
            }
        }
    };
    (
        @struct ($($columns:tt)*)
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }

        impl $crate::engine::sql::FromRow for $name {
            fn find(
                columns: &$crate::engine::sql::Columns,
                places: &mut Vec<usize>,
            ) -> $crate::engine::sql::Result<()> {
                $(<$type as $crate::engine::sql::Field>::find(columns, stringify!($field), places)?;)*
                Ok(())
            }

            fn read(
                row: &mut $crate::engine::sql::Row,
                places: &mut $crate::engine::sql::Places<'_>,
            ) -> $crate::engine::sql::Result<Self> {
                Ok(Self { $($field: <$type as $crate::engine::sql::Field>::read(row, places)?,)* })
            }
        }

        impl $crate::engine::sql::Field for $name {
            $($columns)*

            fn find(
                columns: &$crate::engine::sql::Columns,
                _: &str,
                places: &mut Vec<usize>,
            ) -> $crate::engine::sql::Result<()> {
                <Self as $crate::engine::sql::FromRow>::find(columns, places)
            }

            fn read(
                row: &mut $crate::engine::sql::Row,
                places: &mut $crate::engine::sql::Places<'_>,
            ) -> $crate::engine::sql::Result<Self> {
                <Self as $crate::engine::sql::FromRow>::read(row, places)
            }
        }
    };
}
pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;

    row! {
        #[derive(Debug, PartialEq)]
        struct Part of parts {
            b: Option<i64>,
            c: String,
        }
    }
    row! {
        #[derive(Debug, PartialEq)]
        struct Whole of wholes {
            a: i64,
            part: Part,
            d: Vec<u8>,
        }
    }

    fn rows() -> Rows {
        let columns = ["c", "d", "a", "b", "unused"];
        let values = vec![
            Value::Text("c".to_owned()),
            Value::Bytes(vec![1]),
            Value::Integer(1),
            Value::Null,
            Value::Null,
        ];
        Rows {
            columns: Columns::Named(columns.to_vec()),
            rows: vec![values],
            affected: 0,
        }
    }

    #[test]
    fn structs_read_columns_by_name() {
        let expected = Whole {
            a: 1,
            part: Part {
                b: None,
                c: "c".to_owned(),
            },
            d: vec![1],
        };
        assert_eq!(rows().read::<Whole>().unwrap(), [expected]);
    }

    #[test]
    fn a_row_with_a_table_lists_its_columns() {
        assert_eq!(Whole::COLUMNS, "wholes.a, parts.b, parts.c, wholes.d");
        assert_eq!(
            crate::engine::sql::statement!("SELECT ", Part::COLUMNS, " FROM parts"),
            "SELECT parts.b, parts.c FROM parts"
        );
    }

    #[test]
    fn a_row_of_another_shape_is_an_error() {
        assert!(rows().read::<(String,)>().is_err(), "too many columns");
        type Wrong = (i64, Vec<u8>, i64, Option<i64>, Option<i64>);
        assert!(rows().read::<Wrong>().is_err(), "a text is not an integer");
        let mut renamed = rows();
        renamed.columns = Columns::Named(vec!["x", "d", "a", "b", "unused"]);
        assert!(renamed.read::<Whole>().is_err(), "c is missing");
    }
}
